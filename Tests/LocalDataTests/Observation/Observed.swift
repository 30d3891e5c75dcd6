import Observation
import Synchronization

/// Waits until a property of an observable object has a wanted content.
/// - Parameter read: Returns the content, or nil while it is not as wanted.
@MainActor func until<Content>(_ read: @MainActor () -> Content?) async -> Content {
    while true {
        if let found = read() { return found }
        await withCheckedContinuation { continuation in
            let once = Once(continuation)
            let isThere = withObservationTracking {
                read() != nil
            } onChange: {
                once.resume()
            }
            if isThere { once.resume() }
        }
    }
}

/// Resumes a continuation at the first of several calls.
private final class Once: Sendable {
    private let waiting: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) { waiting = Mutex(continuation) }

    func resume() { waiting.withLock { $0.take() }?.resume() }
}
