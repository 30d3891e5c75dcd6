import BackendContract
import Synchronization

/// The registered keys. For each slot, it also records which of these keys take their value from the slot.
final class KeyRegistry: Sendable {
    /// A registered key or collection. A class, because catalogs and sweeps pass entries on many times: copying all properties
    /// would take longer than following a reference.
    final class Entry: Sendable {
        let key: AnyStorageKey
        let route: Route
        /// The slots that the migrations of this key read.
        let sources: [PhysicalSlot]
        /// The slots that the value may come from, also through the migrations of its sources.
        let reach: [PhysicalSlot]
        let catalog: String

        init(key: AnyStorageKey, route: Route, sources: [PhysicalSlot], reach: [PhysicalSlot], catalog: String) {
            (self.key, self.route, self.sources, self.reach, self.catalog) = (key, route, sources, reach, catalog)
        }

        /// A description of the key: its name, its owner and its catalog.
        var title: String { "\(key.name) (owner \(key.owner ?? "?"), catalog \(catalog))" }

        /// Returns a copy of the entry that leads to the stores of other routes; nil if the key cannot be used there.
        func leading(_ routes: RouteTable) -> Entry? {
            guard let route = try? routes.route(for: key) else { return nil }
            return Entry(key: key, route: route, sources: sources, reach: reach, catalog: catalog)
        }
    }

    private struct State {
        /// The retired keys of each catalog: the keys that the program no longer uses.
        var retired: [String: [Entry]] = [:]
        var order: [PhysicalSlot] = []
        var entries: [PhysicalSlot: Entry] = [:]
        var namedBy: [PhysicalSlot: Set<PhysicalSlot>] = [:]
    }

    private let state: Mutex<State>
    /// In a rehearsal, returns a copy of an entry that leads to the stores of the rehearsal. Nil outside a rehearsal: entries
    /// are used unchanged.
    private let rerouted: (@Sendable (Entry) -> Entry?)?

    init() {
        state = Mutex(State())
        rerouted = nil
    }

    /// Creates a copy whose entries lead to the stores of other routes. Entries that are added to the copy are not added to the original.
    init(copying other: KeyRegistry, leading routes: RouteTable) {
        state = Mutex(other.state.withLock(\.self))
        rerouted = { $0.leading(routes) }
    }

    /// Adds the keys of a catalog: all of them, or none if it throws.
    /// - Throws: ``StorageError`` with `duplicateKey` if two keys have the same slot, in one catalog or in two.
    func add(_ entries: [Entry], retired: [Entry], _ catalog: String) throws {
        try state.withLock { state in
            var slots: [PhysicalSlot: Entry] = [:]
            for entry in entries {
                // Reason: "Registering a catalog again replaces its entries" in Docs/Decisions/Migration.md.
                let known = state.entries[entry.route.slot].flatMap { $0.catalog == entry.catalog ? nil : $0 }
                if let other = slots.updateValue(entry, forKey: entry.route.slot) ?? known {
                    throw StorageError(
                        StorageError.duplicateKey, key: entry.key.name,
                        "\(entry.title) and \(other.title) have the same slot in \(entry.route.domain). Give one of them another name; nothing was registered."
                    )
                }
            }
            state.retired[catalog] = retired
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

    /// Returns the entries in the order of registration.
    /// - Parameter catalog: The id of the catalog; nil for all catalogs.
    func entries(of catalog: String? = nil) -> [Entry] {
        let entries = state.withLock { state in
            state.order.compactMap { state.entries[$0] }.filter { catalog == nil || $0.catalog == catalog }
        }
        return rerouted.map { entries.compactMap($0) } ?? entries
    }

    /// The ids of the registered catalogs.
    var catalogs: [String] { state.withLock { $0.retired.keys.sorted() } }

    /// Returns the retired keys of a catalog: the keys that the program no longer uses.
    func retired(of catalog: String) -> [Entry] {
        let entries = state.withLock { $0.retired[catalog] ?? [] }
        return rerouted.map { entries.compactMap($0) } ?? entries
    }

    /// Returns the id of the catalog that contains the key of a slot; nil if that key is not registered.
    func catalog(of slot: PhysicalSlot) -> String? { state.withLock { $0.entries[slot]?.catalog } }

    /// Returns whether a slot belongs to a registered key, or to a record of a registered collection. Retired keys count too.
    func contains(_ slot: PhysicalSlot) -> Bool {
        let slots = [slot] + (slot.placeholder.map { [$0] } ?? [])
        return state.withLock { state in
            slots.contains { state.entries[$0] != nil } || state.retired.values.contains { $0.contains { slots.contains($0.route.slot) } }
        }
    }

    /// Returns whether another key may take its value from a slot.
    func isNamed(_ source: PhysicalSlot, except destination: PhysicalSlot) -> Bool {
        state.withLock { state in state.namedBy[source]?.contains { $0 != destination } ?? false }
    }

    /// Returns the registered keys that take their value from `source`, except the key of `destination`. Also leaves out the
    /// keys that now find the value at `destination`: they take values from there, and read `source` only through the
    /// migrations of their sources.
    func entries(naming source: PhysicalSlot, except destination: PhysicalSlot) -> [Entry] {
        let entries = state.withLock { state in
            (state.namedBy[source] ?? []).filter { $0 != destination }.sorted { $0.description < $1.description }.compactMap {
                state.entries[$0]
            }
            .filter { $0.sources.contains(source) || !$0.reach.contains(destination) }
        }
        return rerouted.map { entries.compactMap($0) } ?? entries
    }
}
