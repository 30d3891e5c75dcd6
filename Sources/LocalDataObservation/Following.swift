/// The connection of an observable object with the task that follows its values. The object owns it, and the task does not.
final class Following: Sendable {
    /// Ends the task.
    let end: @Sendable () -> Void
    /// Waits until the object shows the result of all changes of this process so far.
    let caughtUp: @Sendable () async -> Void

    init(end: @escaping @Sendable () -> Void, caughtUp: @escaping @Sendable () async -> Void) {
        (self.end, self.caughtUp) = (end, caughtUp)
    }

    deinit { end() }
}
