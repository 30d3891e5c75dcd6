package import BackendContract
import Synchronization

/// The slots (locations of single values) of an ``InMemoryStore``. The medium outlives the store, so that a test can
/// end a program and start it again over the same data.
///
/// Several stores can share one medium and see each other's changes. A test can also write to it as another program
/// (``writeForeign(_:at:)``) or damage a slot (``corrupt(_:bytes:)``).
package final class MemoryMedium: Sendable {
    enum Content {
        case value(StoragePayload, StorageMetadata, isForeign: Bool)
        case tombstone(StorageMetadata)
        case damaged([UInt8])
    }

    struct Slot {
        var content: Content
        /// The number of the change that wrote the content. It is unique in the medium.
        var change: UInt64
    }

    struct Watcher {
        let store: UInt64
        let continuation: AsyncStream<Set<StorageAddress>?>.Continuation
    }

    struct State {
        private(set) var slots: [StorageAddress: Slot] = [:]
        /// A cache of the sorted slots of each namespace. Adding or deleting a slot drops the entry of its namespace.
        private var sorted: [StorageNamespace: [StorageAddress]] = [:]
        /// A random number that the first store on the medium draws. Every revision (identifier of a slot's state)
        /// contains this number, so the revisions of two media are never equal.
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

        /// Deletes a slot.
        /// - Returns: Whether the slot existed.
        mutating func empty(_ address: StorageAddress) -> Bool {
            guard slots.removeValue(forKey: address) != nil else { return false }
            changes += 1
            sorted[address.namespace] = nil
            return true
        }

        /// The slots of a namespace, sorted by the bytes of their names.
        mutating func addresses(in namespace: StorageNamespace) -> [StorageAddress] {
            if let known = sorted[namespace] { return known }
            let made = slots.keys.filter { $0.namespace == namespace }.sorted { $0.precedes($1) }
            sorted[namespace] = made
            return made
        }

        /// Notifies the watchers of all stores except the store that made the change.
        func announce(_ changed: Set<StorageAddress>, by store: UInt64?) {
            guard !changed.isEmpty else { return }
            for watcher in watchers.values where watcher.store != store { watcher.continuation.yield(changed) }
        }
    }

    let state = Mutex(State())

    /// Creates an empty medium.
    package init() {}

    /// Writes a value as a program without LocalData would: replaces the value and removes its metadata.
    /// - Parameters:
    ///   - payload: The content of the value.
    ///   - address: The slot.
    package func writeForeign(_ payload: StoragePayload, at address: StorageAddress) {
        change(address, to: .value(payload, StorageMetadata(), isForeign: true))
    }

    /// Deletes a slot as another program would, without a tombstone, the record of a removal.
    package func removeForeign(_ address: StorageAddress) {
        state.withLock { state in
            guard state.empty(address) else { return }
            state.announce([address], by: nil)
        }
    }

    /// Damages a slot: replaces its content with bytes that are not a valid record.
    /// - Parameters:
    ///   - address: The slot.
    ///   - bytes: The new content.
    package func corrupt(_ address: StorageAddress, bytes: [UInt8]) { change(address, to: .damaged(bytes)) }

    private func change(_ address: StorageAddress, to content: Content) {
        state.withLock { state in
            _ = state.hold(content, at: address)
            state.announce([address], by: nil)
        }
    }
}
