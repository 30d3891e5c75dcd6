import BackendContract

/// Finds the legacy locations of a value and reads their records.
struct LegacyLocations: EnginePart, Sendable {
    /// The number of conversions within the slot that are followed. More of them are a cycle.
    private static let mostInPlace = 64

    let engine: Engine

    /// The results of reading the legacy locations of a value.
    struct Contents: Sendable {
        var found: [SourceRecord] = []
        /// Lists that may contain the record, with their legacy locations. Other records come from the same lists, so no change of this
        /// record deletes one of them.
        var lists: [SourceRecord] = []
        /// The locations that are empty or contain a tombstone.
        var empty: [Route] = []
        /// The locations that are locked, unavailable or damaged, or whose read failed.
        var unreadable: [Route] = []

        static let none = Contents()
    }

    /// Returns all legacy locations of a value: the sources of its migrations, then the sources of these sources, and so on. So the oldest
    /// locations come last. Each location is listed once, even if migrations form a cycle.
    func all(of slot: UntypedSlot) throws -> [(key: AnyStorageKey, route: Route)] {
        try all(slot.key.migrations.flatMap(\.legacyLocations), of: slot.id)
    }

    func all(_ direct: [AnyStorageKey], of slot: PhysicalSlot) throws -> [(key: AnyStorageKey, route: Route)] {
        var found: [(key: AnyStorageKey, route: Route)] = []
        var open = direct
        var inPlace = 0
        while !open.isEmpty {
            let source = open.removeFirst()
            let route = try slots.routes.route(for: source)
            if route.slot != slot, !found.contains(where: { $0.route.slot == route.slot }) {
                found.append((source, route))
            } else {
                // A source in a slot that is listed already is no other location, but its sources are.
                inPlace += 1
                if inPlace > Self.mostInPlace { continue }
            }
            open += source.legacyLocations
        }
        return found
    }

    /// Reads the legacy locations of a value, from the oldest to the latest. An older program that runs now may move the value in this
    /// direction. In the other direction, the reads could miss a value that moves past them.
    /// - Parameter kept: A legacy location that was already read. It is not read again if its release window is open.
    /// - Returns: The contents, those of the latest location first.
    func read(for slot: UntypedSlot, except kept: MirroredLocation.Seen? = nil) async throws -> Contents {
        guard slot.key.hasMigration else { return .none }
        var contents = Contents()
        for (source, route) in try all(of: slot).reversed() where kept?.place.isOpen != true || route.slot != kept?.place.route.slot {
            if let record = try await record(of: source, route, &contents) { contents.found.insert(record, at: 0) }
        }
        return contents
    }

    /// Reads the legacy locations of a value that a change replaces. For a record of a collection, also reads the lists that contain all
    /// records.
    /// - Parameter lists: The contents of these lists, if they were already read.
    func readReplaced(
        by slot: UntypedSlot, except kept: MirroredLocation.Seen? = nil, lists: Contents? = nil
    ) async throws -> Contents {
        var contents = try await read(for: slot, except: kept)
        guard slot.key.membership?.gathered != nil else { return contents }
        let found = if let lists { lists } else { try await readLists(of: slot) }
        contents.lists = found.lists
        contents.empty += found.empty
        contents.unreadable += found.unreadable
        return contents
    }

    /// Reads the lists that may contain a record, and their legacy locations.
    func readLists(of slot: UntypedSlot) async throws -> Contents {
        var contents = Contents()
        for (source, route) in try lists(of: slot).reversed() {
            if let record = try await record(of: source, route, &contents) { contents.lists.insert(record, at: 0) }
        }
        return contents
    }

    /// Returns the lists that may contain a record, and their legacy locations: those of its collection, and those of the collections from
    /// which this collection takes its records.
    private func lists(of slot: UntypedSlot) throws -> [(key: AnyStorageKey, route: Route)] {
        guard slot.key.membership?.gathered != nil else { return [] }
        let keys = [slot.key] + (slot.key.hasMigration ? try all(of: slot).map(\.key.base) : [])
        let found = keys.flatMap { $0.membership?.gathered?.legacyLocations ?? [] }.map(\.key).filter { $0.collection == nil }
        return found.isEmpty ? [] : try all(found, of: slot.id)
    }

    /// Reads one legacy location. Returns its record, or notes in the contents that it is empty or unreadable.
    private func record(of source: AnyStorageKey, _ route: Route, _ contents: inout Contents) async throws -> SourceRecord? {
        let probe: StorageProbe
        do { probe = try await route.read() } catch is CancellationError { throw CancellationError() } catch {
            contents.unreadable.append(route)
            return nil
        }
        switch probe {
        // A legacy collection has a record of another type. It is not a copy of the value, and the key must not remove it.
        case .value(let record) where source.base.refuses(record.metadata): return nil
        case .value(let record): return SourceRecord(key: source, route: route, record: record)
        case .absent, .tombstone: contents.empty.append(route)
        case .locked, .unavailable, .corrupt: contents.unreadable.append(route)
        }
        return nil
    }

    /// Returns whether any of the sources has a value, is damaged, or cannot be read.
    func holdAnything(_ sources: [AnyStorageKey]) async throws -> Bool {
        for source in sources where try await !slots.routes.route(for: source).read().isEmpty { return true }
        return false
    }
}
