/// Resumes a task when the last reference to this object is released.
///
/// A signal is put behind the events of a queue. Whatever happens to the queue, the task does not wait forever.
final class ReleaseSignal: Sendable {
    private let continuation: CheckedContinuation<Void, Never>

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

    deinit { continuation.resume() }
}
