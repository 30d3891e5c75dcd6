public import BackendContract

/// A fault that a ``FaultingBackend`` injects into one operation: an error, a wait, a lost answer, or the end of the
/// process.
///
/// ```swift
/// let storage = machine.launch()
/// _ = try await storage.value(for: .city)
/// for backend in machine.backends(of: .userDefaults) { backend.inject(.stopAfterwards, of: .apply) }
/// _ = try? await storage.set("Graz", for: .city)  // the process is killed just after the change
/// #expect(try await machine.launch().get(.city) == "Graz")
/// ```
public enum StorageFault: Sendable {
    /// The call throws an error and does not reach the store.
    case fail(BackendError)
    /// The store reports that it is locked.
    case locked
    /// The store reports that it is unavailable: in the result for each slot, or as an error if the call has no such results.
    case unavailable
    /// The operation waits until the gate opens, and then runs.
    /// If the caller is cancelled during the wait, the call throws `cancelled` at once.
    case hold(FaultGate)
    /// The operation waits for a duration on the backend's clock, and then runs.
    case delay(Duration)
    /// The operation runs completely, but the call throws an error with an unknown outcome. A read throws with the outcome `notApplied`.
    case loseAnswer
    /// Only the first mutations of a change are applied, and the call throws with an unknown outcome.
    ///
    /// It simulates a store that claims atomic batches but does not apply them atomically. Other operations behave as with ``loseAnswer``.
    case tear(after: Int)
    /// The process is killed just before the operation. Nothing reaches the store from now on, and waiting operations fail too.
    case stop
    /// The process is killed just after the operation. The operation is applied, but nothing reaches the store after it.
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
