import BackendContract

/// Finds the legacy locations of a value and reads their records.
struct LegacyLocations: Sendable {
    /// The number of conversions within the slot that are followed. More of them are a cycle.
    private static let mostInPlace = 64

    let slots: SlotAccess

    init(_ slots: SlotAccess) { self.slots = slots }

    /// The results of reading the legacy locations of a value.
    struct Contents: Sendable {
        var found: [SourceRecord] = []
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
        var seen: Set<PhysicalSlot> = [slot]
        var found: [(key: AnyStorageKey, route: Route)] = []
        var open = direct
        var inPlace = 0
        while !open.isEmpty {
            let source = open.removeFirst()
            let route = try slots.routes.route(for: source)
            // A source in the slot of the value is no other location, but its sources are.
            if route.slot == slot, inPlace < Self.mostInPlace {
                inPlace += 1
                open += source.legacyLocations
            }
            guard seen.insert(route.slot).inserted else { continue }
            found.append((source, route))
            open += source.legacyLocations
        }
        return found
    }

    /// Reads the legacy locations of a value.
    /// - Parameter kept: A legacy location that was already read. It is not read again if its release window is open.
    func read(for slot: UntypedSlot, except kept: MirroredLocations.Seen? = nil) async throws -> Contents {
        guard slot.key.hasMigration else { return .none }
        var contents = Contents()
        for (source, route) in try all(of: slot) where kept?.place.isOpen != true || route.slot != kept?.place.route.slot {
            let probe: StorageProbe
            do { probe = try await route.read() } catch is CancellationError { throw CancellationError() } catch {
                contents.unreadable.append(route)
                continue
            }
            switch probe {
            // A legacy collection has a record of another type. It is not a copy of the value, and the key must not remove it.
            case .value(let record) where source.base.refuses(record.metadata): continue
            case .value(let record): contents.found.append(SourceRecord(key: source, route: route, record: record))
            case .absent, .tombstone: contents.empty.append(route)
            case .locked, .unavailable, .corrupt: contents.unreadable.append(route)
            }
        }
        return contents
    }

    /// Returns whether any of the sources has a value, is damaged, or cannot be read.
    func holdAnything(_ sources: [AnyStorageKey]) async throws -> Bool {
        for source in sources {
            switch try await slots.routes.route(for: source).read() {
            case .absent, .tombstone: continue
            default: return true
            }
        }
        return false
    }
}
