public import BackendContract
import SwiftProtobuf
import Synchronization

/// Changes of other machines.
extension EtcdStore: ObservableBackend {
    /// Returns a stream that reports the slots that this or another machine has changed. The first element is nil.
    ///
    /// After a lost connection, the stream continues with the next change. If the cluster has compacted that part of its history, the
    /// stream reports nil, because any slot may have changed.
    public func foreignChanges() -> AsyncStream<Set<StorageAddress>?> { changes(since: nil) }

    /// Returns a stream of the changes since a revision of the cluster.
    /// - Parameter revision: The revision of the first change; nil for a stream that begins now, with nil.
    func changes(since revision: Int64?) -> AsyncStream<Set<StorageAddress>?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self)
        let position = WatchPosition(revision)
        let task = Task { [self] in
            while !Task.isCancelled {
                do throws(EtcdFault) { try await watch(position, continuation) } catch {
                    // Another attempt helps after every fault but a refusal.
                    if case .refused = error.kind { break }
                }
                do { try await Task.sleep(for: .milliseconds(200)) } catch { break }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Watches the keys of the store until the connection or the position is lost.
    private func watch(
        _ position: WatchPosition, _ continuation: AsyncStream<Set<StorageAddress>?>.Continuation
    ) async throws(EtcdFault) {
        let start: Int64
        if let next = position.next {
            start = next
        } else {
            start = try await revision(until: cluster.nextDeadline) + 1
            position.begin(at: start)
            continuation.yield(nil)
        }
        let range = keys.all
        let request = EtcdWatchCreateRequest.with {
            $0.key = range.start
            $0.rangeEnd = range.end
            $0.startRevision = start
            $0.fragment = true
        }
        try await cluster.watch(request) { [keys] answer in
            let changed = Set(answer.events.compactMap { keys.address($0.kv.key) })
            if !changed.isEmpty { continuation.yield(changed) }
            position.advance(over: answer)
            return !answer.canceled
        }
    }
}

/// The revision at which a watch continues.
private final class WatchPosition: Sendable {
    private let state: Mutex<Int64?>

    init(_ revision: Int64?) { state = Mutex(revision) }

    /// The revision of the next change; nil if the watch has no position, or has lost it.
    var next: Int64? { state.withLock { $0 } }

    func begin(at revision: Int64) { state.withLock { $0 = revision } }

    func advance(over answer: EtcdWatchResponse) {
        state.withLock { next in
            if answer.compactRevision > 0 {
                next = nil
            } else if !answer.fragment, let last = answer.events.last {
                // A change is complete with its last fragment.
                next = last.kv.modRevision + 1
            }
        }
    }
}
