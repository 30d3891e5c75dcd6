import BackendContract
import Synchronization

/// The keys that were registered, and which of them name a slot as a source.
final class KeyRegistry: Sendable {
    /// A class, since catalogs and sweeps hand it on many times: a copy of all that it names takes longer than a look at a place.
    final class Entry: Sendable {
        let key: AnyStorageKey
        let route: Route
        /// The slots that its own migrations read.
        let sources: Set<PhysicalSlot>
        /// The slots that its value may come from, through the migrations of its sources too.
        let reach: Set<PhysicalSlot>
        let catalog: String

        init(key: AnyStorageKey, route: Route, sources: Set<PhysicalSlot>, reach: Set<PhysicalSlot>, catalog: String) {
            (self.key, self.route, self.sources, self.reach, self.catalog) = (key, route, sources, reach, catalog)
        }

        /// The key in words: its name, its owner and its catalog.
        var title: String { "\(key.name) (owner \(key.owner ?? "?"), catalog \(catalog))" }

        /// The same entry, leading to other stores; nil when its key cannot be used there.
        func leading(_ routes: RouteTable) -> Entry? {
            guard let route = try? routes.route(for: key) else { return nil }
            return Entry(key: key, route: route, sources: sources, reach: reach, catalog: catalog)
        }
    }

    private struct State {
        /// The keys of each catalog that the program does not use any more.
        var retired: [String: [Entry]] = [:]
        var order: [PhysicalSlot] = []
        var entries: [PhysicalSlot: Entry] = [:]
        var namedBy: [PhysicalSlot: Set<PhysicalSlot>] = [:]
    }

    private let state: Mutex<State>
    /// Gives an entry the routes of a rehearsal; nil where entries are used as they were registered.
    private let rerouted: (@Sendable (Entry) -> Entry?)?

    init() {
        state = Mutex(State())
        rerouted = nil
    }

    /// The same entries, leading to other stores; what is added here is not added there.
    init(copying other: KeyRegistry, leading routes: RouteTable) {
        state = Mutex(other.state.withLock(\.self))
        rerouted = { $0.leading(routes) }
    }

    /// Adds keys, all or none.
    /// - Throws: ``StorageError`` with `duplicateKey` when two keys of different catalogs, or of one, mean the same slot.
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

    /// All entries, in the order of registration; of one catalog, if its id is given.
    func entries(of catalog: String? = nil) -> [Entry] {
        let entries = state.withLock { state in
            state.order.compactMap { state.entries[$0] }.filter { catalog == nil || $0.catalog == catalog }
        }
        return rerouted.map { entries.compactMap($0) } ?? entries
    }

    /// The ids of the catalogs that were registered.
    var catalogs: [String] { state.withLock { $0.retired.keys.sorted() } }

    /// The keys that a catalog's program does not use any more.
    func retired(of catalog: String) -> [Entry] {
        let entries = state.withLock { $0.retired[catalog] ?? [] }
        return rerouted.map { entries.compactMap($0) } ?? entries
    }

    /// The catalog that a slot's key is in.
    func catalog(of slot: PhysicalSlot) -> String? { state.withLock { $0.entries[slot]?.catalog } }

    /// Whether a slot's key is registered, or the collection that its record is in.
    func contains(_ slot: PhysicalSlot) -> Bool {
        let slots = Set([slot] + (slot.placeholder.map { [$0] } ?? []))
        return state.withLock { state in
            slots.contains { state.entries[$0] != nil } || state.retired.values.contains { $0.contains { slots.contains($0.route.slot) } }
        }
    }

    /// The registered keys that take their value from a slot, without the one at `destination`, and without those that would find it there now.
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
