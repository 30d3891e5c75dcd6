public import BackendContract

/// A fault of one operation of a ``FaultingBackend``.
public enum StorageFault: Sendable {
    /// The call throws an error and does not reach the store.
    case fail(BackendError)
    /// The store answers that it is locked.
    case locked
    /// The store answers that it cannot be reached: in the probe or result of each slot, or as an error if the call has neither.
    case unavailable
    /// The operation waits until a gate is opened, and then runs. If the caller is cancelled meanwhile, the call returns at once.
    case hold(FaultGate)
    /// The operation waits for a time on the backend's clock, and then runs.
    case delay(Duration)
    /// The operation runs completely, but its answer is lost: the call throws, with an unknown outcome.
    case loseAnswer
    /// Only the first mutations of a change are applied, and the call throws with an unknown outcome, as a store does that claims more than it keeps.
    /// Any other operation loses its answer.
    case tear(after: Int)
    /// From this operation on, nothing reaches the store: the process was killed just before it. Operations that wait for another fault fail too.
    case stop
    /// The operation runs, and nothing after it reaches the store: the process was killed just after it.
    case stopAfterwards

    /// The name of the fault in the log.
    var name: String {
        switch self {
        case .fail(let error): "fail(\(error.code))"
        case .locked: "locked"
        case .unavailable: "unavailable"
        case .hold: "hold"
        case .delay(let duration): "delay(\(duration))"
        case .loseAnswer: "loseAnswer"
        case .tear(let count): "tear(after: \(count))"
        case .stop: "stop"
        case .stopAfterwards: "stopAfterwards"
        }
    }
}
