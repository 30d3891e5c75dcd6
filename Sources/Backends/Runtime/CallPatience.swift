import BackendContract

/// A time limit for the store calls of a task that prefers a failure to a long wait. It shortens the stores'
/// deadlines, and never extends them.
package enum CallPatience {
    /// The limit for the current task; nil if only the stores' deadlines apply.
    @TaskLocal package static var limit: Duration?
}

extension Runtime {
    /// Returns the deadline of a call to which its store allows the given time. If ``CallPatience/limit`` is shorter,
    /// it is used instead, unless the runtime is patient.
    package func deadline(after time: Duration) -> MonotonicInstant {
        clock.now.advanced(by: isPatient ? time : min(time, CallPatience.limit ?? time))
    }
}
