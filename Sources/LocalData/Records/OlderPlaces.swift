import BackendContract

/// Counts the values in all locations that migrations read. Content counts as a value unless it is proven to be absent or removed.
struct OlderPlaces: EnginePart, Sendable {
    let engine: Engine

    /// Returns the older copies in the sources of a slot's migrations, and in the sources of these sources.
    func look(at sources: [AnyStorageKey], of slot: PhysicalSlot) async -> OlderCopies {
        var copies = OlderCopies()
        let places: [(key: AnyStorageKey, route: Route)]
        do { places = try LegacyLocations(engine: engine).all(sources, of: slot) } catch {
            copies.unreadable["\(slot)"] = Self.reason(error)
            return copies
        }
        for (key, route) in places {
            do {
                let count = try await count(key, route)
                if count > 0 { copies.holding[route.displayName] = count }
            } catch { copies.unreadable[route.displayName] = Self.reason(error) }
        }
        return copies
    }

    /// Returns the number of values in a location.
    /// - Throws: ``StorageError`` if the location cannot be read.
    func count(_ key: AnyStorageKey, _ route: Route) async throws -> Int {
        if let collection = key.collection { return try await count(collection) }
        switch try await route.probe() {
        // A record of another type in an older collection does not belong to the key.
        case .value(let record): return key.base.refuses(record.metadata) ? 0 : 1
        case .corrupt: return 1
        case .absent, .tombstone: return 0
        case .locked, .unavailable: return 1
        }
    }

    private func count<Collection: TypedCollection>(_ collection: Collection) async throws -> Int {
        // Every query returns damaged rows too, so they are counted.
        try await RecordQueries(engine: engine).countAll(collection.typed, .all)
    }

    static func reason(_ error: any Error) -> String { (error as? StorageError)?.message ?? "The read was cancelled." }
}
