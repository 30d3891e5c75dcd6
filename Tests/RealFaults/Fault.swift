/// What goes wrong in a run of an operation, as the library in front of the C library is told.
package enum Fault: Hashable, Sendable, CustomStringConvertible {
    /// How long a failing call goes on to fail.
    package enum Span: String, CaseIterable, Sendable {
        /// That call alone; the program then ends without closing its stores.
        case once
        /// Every later call that can fail in this way, until the program has ended.
        case on
        /// Every later one until the program was told; then it does the operation again.
        case lifted
    }

    /// A kill before a change, counted from 1.
    case kill(Int)
    /// Half of a change is written, then a kill.
    case tear(Int)
    /// A call fails, counted from 1 among all calls.
    case failure(Int, Errno, Span)
    /// A call transfers half of what it was asked for.
    case short(Int)

    package var description: String {
        switch self {
        case .kill(let number): "kill before change \(number)"
        case .tear(let number): "change \(number) torn by a kill"
        case .failure(let number, let error, let span): "\(error) at call \(number), \(span)"
        case .short(let number): "half a transfer at call \(number)"
        }
    }

    /// What the library reads from `FAULT_PLAN`.
    var plan: String {
        switch self {
        case .kill(let number): "kill \(number)"
        case .tear(let number): "tear \(number)"
        case .failure(let number, let error, let span): "fail \(number) \(error.number) \(span.rawValue)"
        case .short(let number): "short \(number)"
        }
    }

    /// How the program ends after the operation.
    var ending: String {
        switch self {
        case .failure(_, _, .once): "abandon"
        case .failure(_, _, .lifted): "again"
        default: "close"
        }
    }
}

/// The errors that calls are made to fail with.
package enum Errno: String, CaseIterable, Sendable {
    case EIO, ENOSPC, EMFILE, EACCES, EROFS, EINTR, ENOMEM, ENOLCK, EPIPE

    var number: Int32 {
        switch self {
        case .EIO: 5
        case .ENOSPC: 28
        case .EMFILE: 24
        case .EACCES: 13
        case .EROFS: 30
        case .EINTR: 4
        case .ENOMEM: 12
        case .ENOLCK: 37
        case .EPIPE: 32
        }
    }

    /// Signals come one at a time; everything else may last.
    var spans: [Fault.Span] { self == .EINTR ? [.once] : Fault.Span.allCases }

    /// The kinds of calls that can fail so, as the library names them.
    var kinds: Set<String> {
        switch self {
        case .EIO: ["open", "open-to-write", "create", "read", "write", "sync", "name", "resize", "mode", "look", "list"]
        case .ENOSPC: ["create", "write", "sync", "name", "resize"]
        case .EMFILE: ["open", "open-to-write", "create", "list"]
        case .EACCES: ["open", "open-to-write", "create", "name", "look", "mode"]
        case .EROFS: ["open-to-write", "create", "name", "resize", "mode"]
        case .EINTR: ["open", "open-to-write", "create", "read", "write", "sync", "resize", "lock"]
        case .ENOMEM: ["map"]
        case .ENOLCK: ["lock"]
        case .EPIPE: ["send"]
        }
    }
}
