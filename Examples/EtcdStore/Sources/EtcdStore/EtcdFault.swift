import BackendContract
import GRPCCore

/// The error of one call of a member of the cluster.
struct EtcdFault: Error {
    enum Kind: Hashable {
        /// The member cannot be reached, or has no contact to a majority. Another attempt may succeed.
        case unreachable
        /// The member did not answer in time. Another attempt may succeed.
        case silent
        /// The caller was cancelled.
        case cancelled
        /// The lease of a mark has ended. A transaction with a new lease may succeed.
        case leaseGone
        /// The history that the call needs was compacted.
        case compacted
        /// The cluster refused the call.
        case refused(BackendError.Code)
    }

    let kind: Kind
    let message: String
    /// Whether the request may have been carried out, or may still be.
    var mayHaveEffect: Bool

    init(_ kind: Kind, _ message: String, mayHaveEffect: Bool = false) {
        (self.kind, self.message, self.mayHaveEffect) = (kind, message, mayHaveEffect)
    }

    /// The deadline passed before a request was sent.
    static let late = EtcdFault(.silent, "The deadline passed.")

    /// Classifies an error of gRPC.
    /// - Parameters:
    ///   - error: The error.
    ///   - wasSent: Whether the request was handed to the connection.
    init(_ error: any Error, wasSent: Bool) {
        if let fault = error as? EtcdFault {
            self = fault
        } else if let status = error as? RPCError {
            self.init(status: status, wasSent: wasSent)
        } else if error is CancellationError {
            self.init(.cancelled, "The caller was cancelled.", mayHaveEffect: wasSent)
        } else {
            self.init(.unreachable, "The connection cannot be used.", mayHaveEffect: wasSent)
        }
    }

    private init(status: RPCError, wasSent: Bool) {
        let message = status.message
        // A member answers with this prefix. The gRPC library of a member refuses a large request before the member sees it.
        let isAnswer = message.hasPrefix("etcdserver: ") || message.hasPrefix("grpc: received message larger")
        switch status.code {
        case .cancelled where Task.isCancelled:
            self.init(.cancelled, "The caller was cancelled.", mayHaveEffect: wasSent)
        case .deadlineExceeded:
            self.init(.silent, "The member did not answer in time.", mayHaveEffect: wasSent)
        case .unavailable:
            // Only this answer is given before the request is passed on to the cluster.
            self.init(.unreachable, message, mayHaveEffect: wasSent && message != "etcdserver: no leader")
        case .resourceExhausted where message == "etcdserver: too many requests": self.init(.unreachable, message)
        case .resourceExhausted where message.hasPrefix("grpc: "): self.init(.refused(.tooLarge), message)
        case .resourceExhausted where isAnswer: self.init(.refused(.noSpace), message)
        case .invalidArgument where message.contains("too large") || message.contains("too many operations"):
            self.init(.refused(.tooLarge), message)
        case .notFound where message.contains("lease"): self.init(.leaseGone, message)
        case .outOfRange where isAnswer: self.init(.compacted, message)
        case .permissionDenied, .unauthenticated: self.init(.refused(.accessDenied), message)
        case .invalidArgument where isAnswer, .failedPrecondition where isAnswer, .unimplemented:
            self.init(.refused(.failed), message)
        default: self.init(.unreachable, message, mayHaveEffect: wasSent)
        }
    }

    /// Whether the same call may succeed soon, perhaps with another member.
    var isTransient: Bool { kind == .unreachable || kind == .silent }

    /// Returns the error for the caller.
    /// - Parameter outcome: Whether a change may have been applied.
    func backendError(outcome: MutationOutcome = .notApplied) -> BackendError {
        let (code, remedy) = cause
        let advice =
            outcome == .unknown ? "The change may still take effect: read before you repeat it." : "Nothing was changed."
        let sentence = message.hasSuffix(".") ? message : "\(message)."
        return BackendError(code, "etcd: \(sentence) \(remedy) \(advice)", outcome: outcome)
    }

    private var cause: (BackendError.Code, String) {
        switch kind {
        case .unreachable: (.unavailable, "Check that a majority of the members runs and can be reached.")
        case .silent: (.timedOut, "Try again, or allow more time with EtcdCluster.deadline.")
        case .cancelled: (.cancelled, "Try again.")
        case .leaseGone: (.timedOut, "Try again.")
        case .compacted: (.unavailable, "The cluster was compacted during the call. Try again.")
        case .refused(.tooLarge): (.tooLarge, "Make smaller calls, or raise the limits of the members and of EtcdCluster.")
        case .refused(.noSpace): (.noSpace, "Compact and defragment the members, or raise their quota.")
        case .refused(.accessDenied): (.accessDenied, "Grant the user the rights for the keys of the store.")
        case .refused(let code): (code, "See the log of the members.")
        }
    }
}
