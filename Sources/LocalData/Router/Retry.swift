import BackendRuntime

/// The pauses after which a follower retries a read that has failed: twice as long each time, up to a minute.
struct Retry {
    private static let (shortest, longest) = (Duration.seconds(1), Duration.seconds(60))

    private var pause = shortest
    private var next: ScheduledAction?

    /// Schedules another attempt, if the error may pass without a change of the value.
    mutating func schedule(after error: any Error, _ clock: any RuntimeClock, _ attempt: @escaping @Sendable () -> Void) {
        next?.cancel()
        next = nil
        guard (error as? StorageError)?.isTransient == true else { return }
        next = clock.schedule(at: clock.now.advanced(by: pause), attempt)
        pause = min(pause * 2, Self.longest)
    }

    /// Notes that a read has succeeded.
    mutating func succeeded() {
        cancel()
        next = nil
        pause = Self.shortest
    }

    func cancel() { next?.cancel() }
}

extension StorageError {
    /// Returns an error as a storage error.
    package static func wrapping(_ error: any Error, key: String) -> StorageError {
        if let error = error as? StorageError { return error }
        return StorageError(unavailable, key: key, "The read failed (\(String(describing: type(of: error)))).", underlying: error)
    }
}
