import BackendContract

/// How long calls of stores may take for a caller that would rather go without than wait, whatever the stores' own deadlines are.
package enum CallPatience {
    /// The limit for what the current task calls; nil for the stores' own.
    @TaskLocal package static var limit: Duration?
}

extension Runtime {
    /// When a call ends that a store gives so much time.
    package func deadline(after time: Duration) -> MonotonicInstant { clock.now.advanced(by: min(time, CallPatience.limit ?? time)) }
}
