public import BackendContract

/// Something that goes wrong with one operation of a ``FaultingBackend``.
public enum StorageFault: Sendable {
    /// The call throws an error, and nothing of it reaches the store.
    case fail(BackendError)
    /// The store answers that it is locked.
    case locked
    /// The store answers that it cannot be reached: a probe or a result for each slot, an error where a call has none of these.
    case unavailable
    /// The operation waits until a gate is opened, and is carried out then. A caller that is cancelled meanwhile leaves at once.
    case hold(FaultGate)
    /// The operation waits for a time on the backend's clock, and is carried out then.
    case delay(Duration)
    /// The operation is carried out whole, and its answer is lost: the call throws, with the outcome unknown.
    case loseAnswer
    /// The first mutations of a change are carried out, the others not, and the call throws, with the outcome unknown: what a store does that
    /// claims more than it keeps. Any other operation loses its answer.
    case tear(after: Int)
    /// Nothing reaches the store any more, this operation included: the process was killed just before it.
    case stop
    /// The operation is carried out, and nothing after it reaches the store: the process was killed just after it.
    case stopAfterwards

    /// The fault's name, as the log shows it.
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
