package import BackendContract
import Synchronization

/// The memory of an ``InMemoryStore``. It outlives the store, so that a test can launch a program again over the same bytes.
///
/// Several stores can share one medium and see each other's changes. A test can also write to it as another program
/// (``writeForeign(_:at:)``) and damage it (``corrupt(_:bytes:)``).
package final class MemoryMedium: Sendable {
    enum Content {
        case value(StoragePayload, StorageMetadata, isForeign: Bool)
        case tombstone(StorageMetadata)
        case damaged([UInt8])
    }

    struct Slot {
        var content: Content
        /// The number of the change that wrote the content: unique in the medium.
        var change: UInt64
    }

    struct Watcher {
        let store: UInt64
        let continuation: AsyncStream<Set<StorageAddress>?>.Continuation
    }

    struct State {
        private(set) var slots: [StorageAddress: Slot] = [:]
        /// The slots of a namespace in the order of their names, kept from the last request until a slot is added or deleted.
        private var sorted: [StorageNamespace: [StorageAddress]] = [:]
        /// Drawn by the first store on the medium, so that revisions of two media are never equal.
        var identifier: (UInt64, UInt64)?
        var changes: UInt64 = 0
        var stores: UInt64 = 0
        var watchers: [UInt64: Watcher] = [:]
        var watchersEver: UInt64 = 0

        mutating func hold(_ content: Content, at address: StorageAddress) -> UInt64 {
            changes += 1
            if slots.updateValue(Slot(content: content, change: changes), forKey: address) == nil { sorted[address.namespace] = nil }
            return changes
        }

        /// Deletes a slot. Returns whether it existed.
        mutating func empty(_ address: StorageAddress) -> Bool {
            guard slots.removeValue(forKey: address) != nil else { return false }
            sorted[address.namespace] = nil
            return true
        }

        /// The slots of a namespace, in the order of their names' bytes.
        mutating func addresses(in namespace: StorageNamespace) -> [StorageAddress] {
            if let known = sorted[namespace] { return known }
            let made = slots.keys.filter { $0.namespace == namespace }.sorted { $0.precedes($1) }
            sorted[namespace] = made
            return made
        }

        /// Notifies every watcher except those of the changing store.
        func announce(_ changed: Set<StorageAddress>, by store: UInt64?) {
            guard !changed.isEmpty else { return }
            for watcher in watchers.values where watcher.store != store { watcher.continuation.yield(changed) }
        }
    }

    let state = Mutex(State())

    /// Creates an empty medium.
    package init() {}

    /// Writes a value as another program would that knows nothing of metadata: it replaces the old value and its metadata.
    /// - Parameters:
    ///   - payload: The value.
    ///   - address: The slot.
    package func writeForeign(_ payload: StoragePayload, at address: StorageAddress) {
        change(address, to: .value(payload, StorageMetadata(), isForeign: true))
    }

    /// Deletes a slot as another program would, leaving no tombstone.
    package func removeForeign(_ address: StorageAddress) {
        state.withLock { state in
            guard state.empty(address) else { return }
            state.announce([address], by: nil)
        }
    }

    /// Writes bytes into a slot that are not a record.
    /// - Parameters:
    ///   - address: The slot.
    ///   - bytes: The bytes.
    package func corrupt(_ address: StorageAddress, bytes: [UInt8]) { change(address, to: .damaged(bytes)) }

    private func change(_ address: StorageAddress, to content: Content) {
        state.withLock { state in
            _ = state.hold(content, at: address)
            state.announce([address], by: nil)
        }
    }
}
