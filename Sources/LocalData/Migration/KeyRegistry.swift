import BackendContract
import Synchronization

/// The keys that were registered, and which of them name a slot as a source.
final class KeyRegistry: Sendable {
    struct Entry: Sendable {
        let key: AnyStorageKey
        let route: Route
        /// The slots that its own migrations read.
        let sources: Set<PhysicalSlot>
        /// The slots that its value may come from, through the migrations of its sources too.
        let reach: Set<PhysicalSlot>
        let catalog: String

        /// The key in words: its name, its owner and its catalog.
        var title: String { "\(key.name) (owner \(key.owner), catalog \(catalog))" }
    }

    private struct State {
        var order: [PhysicalSlot] = []
        var entries: [PhysicalSlot: Entry] = [:]
        var namedBy: [PhysicalSlot: Set<PhysicalSlot>] = [:]
    }

    private let state = Mutex(State())

    /// Adds keys, all or none.
    /// - Throws: ``StorageError`` with `duplicateKey` when two keys of different catalogs, or of one, mean the same slot.
    func add(_ entries: [Entry]) throws {
        try state.withLock { state in
            var slots: [PhysicalSlot: Entry] = [:]
            for entry in entries {
                let known = state.entries[entry.route.slot].flatMap { $0.catalog == entry.catalog ? nil : $0 }
                if let other = slots.updateValue(entry, forKey: entry.route.slot) ?? known {
                    throw StorageError(
                        StorageError.duplicateKey, key: entry.key.name,
                        "\(entry.title) and \(other.title) have the same slot in \(entry.route.domain). Give one of them another name; nothing was registered."
                    )
                }
            }
            for entry in entries {
                let slot = entry.route.slot
                if let old = state.entries[slot] {
                    for source in old.reach { state.namedBy[source]?.remove(slot) }
                } else {
                    state.order.append(slot)
                }
                state.entries[slot] = entry
                for source in entry.reach { state.namedBy[source, default: []].insert(slot) }
            }
        }
    }

    /// All entries, in the order of registration; of one catalog, if its id is given.
    func entries(of catalog: String? = nil) -> [Entry] {
        state.withLock { state in state.order.compactMap { state.entries[$0] }.filter { catalog == nil || $0.catalog == catalog } }
    }

    /// The catalog that a slot's key is in.
    func catalog(of slot: PhysicalSlot) -> String? { state.withLock { $0.entries[slot]?.catalog } }

    /// Whether a slot's key is registered, or the collection that its record is in.
    func contains(_ slot: PhysicalSlot) -> Bool {
        state.withLock { state in state.entries[slot] != nil || slot.placeholder.map { state.entries[$0] != nil } == true }
    }

    /// The registered keys that take their value from a slot, without the one at `destination`, and without those that would find it there now.
    func entries(naming source: PhysicalSlot, except destination: PhysicalSlot) -> [Entry] {
        state.withLock { state in
            (state.namedBy[source] ?? []).filter { $0 != destination }.sorted { $0.description < $1.description }.compactMap {
                state.entries[$0]
            }
            .filter { $0.sources.contains(source) || !$0.reach.contains(destination) }
        }
    }
}
