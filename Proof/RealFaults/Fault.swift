import Foundation

/// A fault in a run of an operation. The shim, a library in front of the C library, makes it.
package enum Fault: Hashable, Sendable, CustomStringConvertible {
    /// How long calls fail.
    package enum Span: String, CaseIterable, Sendable {
        /// Only one call fails. Then the program ends without closing its stores.
        case once
        /// The call fails, and every later call that can fail in this way, until the program has ended.
        case on
        /// The calls fail in this way until the operation has returned. Then the program does the operation again.
        case lifted
    }

    /// A kill before the change with this number. A change is a call that can alter the disk; the first one has number
    /// 1.
    case kill(Int)
    /// The program writes half of the bytes of a change, and is then killed.
    case tear(Int)
    /// The call with this number fails. All calls are counted; the first one has number 1.
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

    /// The ending that the worker gets as an argument. It says what the worker does after the operation.
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
        // A signal interrupts only one call, so no other call fails.
        CallError(
            description: "EINTR", number: EINTR, kinds: ["open", "open-to-write", "create", "read", "write", "sync", "resize", "lock"],
            spans: [.once]),
        CallError(description: "ENOMEM", number: ENOMEM, kinds: ["map"]),
        CallError(description: "ENOLCK", number: ENOLCK, kinds: ["lock"]),
        CallError(description: "EPIPE", number: EPIPE, kinds: ["send"]),
    ]
}
