import Foundation

/// A fault in a run of an operation. The shim, a library in front of the C library, makes it.
package enum Fault: Hashable, Sendable, CustomStringConvertible {
    /// How long calls fail.
    package enum Span: String, CaseIterable, Sendable {
        /// Only that call fails. Then the program ends without closing its stores.
        case once
        /// Every later call that can fail in this way fails, until the program has ended.
        case on
        /// Every later call fails until the operation has returned. Then the program does the operation again.
        case lifted
    }

    /// A kill before a change, counted from 1.
    case kill(Int)
    /// Half of a change is written, and then the program is killed.
    case tear(Int)
    /// A call fails, counted from 1 among all calls.
    case failure(Int, CallError, Span)
    /// A call transfers half of the bytes.
    case short(Int)

    package var description: String {
        switch self {
        case .kill(let number): "kill before change \(number)"
        case .tear(let number): "change \(number) torn by a kill"
        case .failure(let number, let error, let span): "\(error) at call \(number), \(span)"
        case .short(let number): "half a transfer at call \(number)"
        }
    }

    /// Whether the fault kills the program.
    var kills: Bool {
        switch self {
        case .kill, .tear: true
        case .failure, .short: false
        }
    }

    /// The fault as the shim reads it from `FAULT_PLAN`.
    var plan: String {
        switch self {
        case .kill(let number): "kill \(number)"
        case .tear(let number): "tear \(number)"
        case .failure(let number, let error, let span):
            "fail \(number) \(error.number) \(span.rawValue) \(error.kinds.sorted().joined(separator: ","))"
        case .short(let number): "short \(number)"
        }
    }

    /// The ending of the worker's run after the operation.
    var ending: String {
        switch self {
        case .failure(_, _, .once): "abandon"
        case .failure(_, _, .lifted): "again"
        default: "close"
        }
    }
}

/// An error with which calls fail.
package struct CallError: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    let number: Int32
    /// The kinds of calls that can fail with it, as the shim names them.
    let kinds: Set<String>
    /// How long such a failure may last.
    var spans: [Fault.Span] = Fault.Span.allCases

    static let all = [
        CallError(
            description: "EIO", number: EIO,
            kinds: ["open", "open-to-write", "create", "read", "write", "sync", "name", "resize", "mode", "look", "list"]),
        CallError(description: "ENOSPC", number: ENOSPC, kinds: ["create", "write", "sync", "name", "resize"]),
        CallError(description: "EMFILE", number: EMFILE, kinds: ["open", "open-to-write", "create", "list"]),
        CallError(description: "EACCES", number: EACCES, kinds: ["open", "open-to-write", "create", "name", "look", "mode"]),
        CallError(description: "EROFS", number: EROFS, kinds: ["open-to-write", "create", "name", "resize", "mode"]),
        // A signal interrupts one call at a time.
        CallError(
            description: "EINTR", number: EINTR, kinds: ["open", "open-to-write", "create", "read", "write", "sync", "resize", "lock"],
            spans: [.once]),
        CallError(description: "ENOMEM", number: ENOMEM, kinds: ["map"]),
        CallError(description: "ENOLCK", number: ENOLCK, kinds: ["lock"]),
        CallError(description: "EPIPE", number: EPIPE, kinds: ["send"]),
    ]
}
