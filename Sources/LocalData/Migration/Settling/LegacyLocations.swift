import BackendContract

/// The legacy locations of a value, and what they hold.
struct LegacyLocations: Sendable {
    let slots: SlotAccess

    init(_ slots: SlotAccess) { self.slots = slots }

    /// What was found in the legacy locations of a value.
    struct Contents: Sendable {
        var found: [SourceRecord] = []
        /// Locations that hold nothing.
        var empty: [Route] = []
        /// Locations that cannot be read now.
        var unreadable: [Route] = []

        static let none = Contents()
    }

    /// Every legacy location of a value, through the migrations of its sources too: the oldest last. A location that leads back is named once.
    func all(of slot: UntypedSlot) throws -> [(key: AnyStorageKey, route: Route)] {
        try all(slot.key.migrations.flatMap(\.legacyLocations), of: slot.id)
    }

    func all(_ direct: [AnyStorageKey], of slot: PhysicalSlot) throws -> [(key: AnyStorageKey, route: Route)] {
        var seen: Set<PhysicalSlot> = [slot]
        var found: [(key: AnyStorageKey, route: Route)] = []
        var open = direct
        while !open.isEmpty {
            let source = open.removeFirst()
            let route = try slots.routes.route(for: source)
            guard seen.insert(route.slot).inserted else { continue }
            found.append((source, route))
            open += source.legacyLocations
        }
        return found
    }

    /// The records that the legacy locations hold now.
    /// - Parameter kept: An older place that was read already, and is kept up to date.
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
            // A record of another type in an older collection is no copy of the value, and not the key's to remove.
            case .value(let record) where source.base.refuses(record.metadata): continue
            case .value(let record): contents.found.append(SourceRecord(key: source, route: route, record: record))
            case .absent, .tombstone: contents.empty.append(route)
            case .locked, .unavailable, .corrupt: contents.unreadable.append(route)
            }
        }
        return contents
    }

    /// Whether any of the sources holds a value, or cannot be read.
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
