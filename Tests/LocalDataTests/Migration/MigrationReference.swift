import LocalData

/// The result of a call, as its caller receives it.
enum Answer: Equatable, Sendable {
    case value(String?)
    /// The key's row in the report of a sweep, a migration of all keys of a catalog.
    case row(MigrationReport.State, code: String?)
    case done
    case threw(String, applied: Bool)
}

/// The answer to an action and the contents of all slots after it.
struct Aftermath: Equatable, Sendable {
    var answer: Answer?
    var held: Held
    /// The superseded copies that the destination's record names:
    /// the text of each copy, by the index of its legacy location.
    var named: [Int: String]
    var places: [Held]
    var quarantine: Set<String>
}

/// Computes the expected result of an action from the state table of a migration in `Docs/Design.md`.
///
/// The code follows the text of the table and shares nothing with the engine, so it cannot repeat the engine's mistakes.
struct MigrationReference {
    private struct Refusal: Error {
        let code: String
        var isApplied = false
    }

    private let world: World
    private(set) var after: Aftermath

    init(_ world: World) {
        self.world = world
        after = Aftermath(answer: nil, held: world.held, named: world.named, places: world.places.map(\.held), quarantine: [])
    }

    static func expected(_ action: Action, in world: World) -> Aftermath {
        var reference = MigrationReference(world)
        reference.after.answer = reference.answer(action)
        return reference.after
    }

    private mutating func answer(_ action: Action) -> Answer {
        do {
            switch action {
            case .value:
                let value = try read()
                return .value(value)
            case .sweep, .force:
                let state = try settle()
                return .row(state, code: nil)
            case .set(let text):
                try set(text)
                return .done
            case .remove:
                try remove()
                return .done
            }
        } catch let refusal as Refusal {
            guard action == .sweep else { return .threw(refusal.code, applied: refusal.isApplied) }
            return .row(["locked", "unavailable"].contains(refusal.code) ? .blocked : .failed, code: refusal.code)
        } catch {
            return .threw("\(error)", applied: false)
        }
    }

    // MARK: The rows

    /// The table's row for a locked or unavailable destination: the call throws and changes nothing.
    private func requireDestination() throws {
        switch world.reach {
        case .open: return
        case .locked: throw Refusal(code: "locked")
        case .unavailable: throw Refusal(code: "unavailable")
        }
    }

    private var damage: Refusal {
        if case .corrupt = after.held { Refusal(code: "corrupted") } else { Refusal(code: "undecodable") }
    }

    private var isUsable: Bool {
        if case .value = after.held { true } else { after.held == .tombstone }
    }

    private mutating func read() throws -> String? {
        try requireDestination()
        if !isUsable { _ = try fill() }
        if case .value(let text) = after.held { return text }
        return nil
    }

    private mutating func settle() throws -> MigrationReport.State {
        try requireDestination()
        return isUsable ? try reconcile() : try fill()
    }

    /// Fills a destination without a usable value:
    /// converts a number in its slot, or else tries the legacy locations in order.
    private mutating func fill() throws -> MigrationReport.State {
        if world.convertsInPlace, case .number(let number) = after.held {
            if world.keepsReplacedBytes { after.quarantine.insert("\(number)") }
            // The converted record still names the copies that the old record superseded.
            after.held = .value("n\(number)")
            return .converted
        }
        for (index, place) in world.places.enumerated() {
            try requireProtection(place)
            guard let held = try look(place) else { continue }
            switch held {
            case .absent: continue
            case .tombstone:
                // A tombstone, the record of a removal, in a legacy location hides all later legacy locations: the
                // value was removed. But if the destination has unreadable content, that content stays, and the call
                // throws.
                if after.held == .absent { return .removed }
                throw damage
            case .corrupt: throw Refusal(code: "corrupted")
            case .number, .alien: throw Refusal(code: "migrationFailed")
            case .value(let text):
                if let old = after.held.text {
                    // The undecodable value of the destination superseded this copy, so the copy does not replace it.
                    if after.named[index] == text { throw damage }
                    after.quarantine.insert(old)
                }
                after.held = .value(text)
                after.named = names(index, text)
                after.places[index] = .absent
                return .moved
            }
        }
        if after.held == .absent { return .absent }
        throw damage
    }

    /// Compares the legacy locations with a destination that has a value or a tombstone. Deletes superseded copies, and
    /// treats other legacy content as a conflict.
    private mutating func reconcile() throws -> MigrationReport.State {
        var state = after.held == .tombstone ? MigrationReport.State.removed : .unchanged
        for (index, place) in world.places.enumerated() where place.reach == .open {
            guard after.places[index].isRecord, let text = after.places[index].text else { continue }
            let isNamed = after.named[index] == text
            if place.isForeign, after.held == .tombstone {
                // A value of another program has no unique revision, so it may be newer than the removal. It is quarantined.
                after.quarantine.insert(text)
            } else if place.isForeign || !isNamed {
                continue
            }
            after.places[index] = .absent
            state = after.quarantine.isEmpty ? .purged : .resolved
        }
        for (index, place) in world.places.enumerated() {
            guard let held = try look(place), let text = after.places[index].text else { continue }
            if case .corrupt = held { throw Refusal(code: "corrupted") }
            if after.held == .value(text) {
                after.places[index] = .absent
                state = .purged
                continue
            }
            if place.isForeign, after.named[index] == text {
                // The other program may have written the same content again.
                // Quarantine the content before it is deleted.
                after.quarantine.insert(text)
                after.places[index] = .absent
                return .resolved
            }
            try resolve(index, place, text)
            // One sweep resolves one conflict. The next sweep compares further legacy locations with the new value.
            return .resolved
        }
        return state
    }

    private mutating func resolve(_ index: Int, _ place: OlderPlace, _ text: String) throws {
        let isReadable = if case .value = after.places[index] { true } else { false }
        guard world.policy == .destinationWins || isReadable else { throw Refusal(code: "migrationFailed") }
        let mine = after.held.text
        var result: String?
        switch world.policy {
        case .destinationWins:
            after.quarantine.insert(text)
            after.places[index] = .absent
            return
        case .sourceWins: result = text
        case .join: result = "\(mine ?? "-")+\(text)"
        case .keep: result = mine
        case .writeTombstone: result = nil
        case .refuse: throw Refusal(code: "migrationFailed")
        }
        if result != nil { try requireProtection(place) }
        if let mine { after.quarantine.insert(mine) }
        if world.policy != .sourceWins { after.quarantine.insert(text) }
        after.held = result.map(Held.value) ?? .tombstone
        after.named.merge(names(index, text)) { $1 }
        after.places[index] = .absent
    }

    // MARK: Changes

    private mutating func set(_ text: String) throws {
        try requireDestination()
        try requireReachOfWinners()
        if case .corrupt = after.held, let bytes = after.held.text { after.quarantine.insert(bytes) }
        if world.hasMigration { nameEveryCopy() } else { after.named = [:] }
        after.held = .value(text)
    }

    private mutating func remove() throws {
        try requireDestination()
        try requireReachOfWinners()
        if case .corrupt = after.held, let bytes = after.held.text { after.quarantine.insert(bytes) }
        guard world.hasMigration else {
            // For a key without a migration, a removal leaves an existing tombstone unchanged, and otherwise deletes the record.
            after.held = after.held == .tombstone ? .tombstone : .absent
            return
        }
        nameEveryCopy()
        after.held = .tombstone
        var remains = false
        for (index, place) in world.places.enumerated() {
            if place.reach != .open {
                remains = true
            } else if after.places[index].isRecord {
                after.places[index] = .absent
            } else if case .corrupt = after.places[index] {
                remains = true
            }
        }
        if remains { throw Refusal(code: "residueRemains", isApplied: true) }
    }

    /// With the policy `sourceWins`, refuses to change the key while a legacy location cannot be read. A value in that
    /// location would later win over the new value.
    private func requireReachOfWinners() throws {
        if world.policy == .sourceWins, world.places.contains(where: { $0.reach != .open }) { throw Refusal(code: "unavailable") }
    }

    // MARK: The rules

    /// The content of a legacy location; nil if the location is unavailable and the migration may skip it.
    private func look(_ place: OlderPlace) throws -> Held? {
        switch place.reach {
        case .open: return place.held
        case .locked: throw Refusal(code: "locked")
        case .unavailable:
            if place.skips { return nil }
            throw Refusal(code: "unavailable")
        }
    }

    private func requireProtection(_ place: OlderPlace) throws {
        if place.isStrong, !world.isStrong, !place.allowsWeaker { throw Refusal(code: "weakerProtection") }
    }

    /// The entry that records a copy as superseded; empty for a value of another program that the destination protects less
    /// than the legacy location. The reason is that this entry would contain a fingerprint of a secret.
    private func names(_ index: Int, _ text: String) -> [Int: String] {
        let place = world.places[index]
        return world.isStrong || !place.isStrong || !place.isForeign ? [index: text] : [:]
    }

    private mutating func nameEveryCopy() {
        for (index, place) in world.places.enumerated() where place.reach == .open && after.places[index].isRecord {
            if let text = after.places[index].text { after.named.merge(names(index, text)) { $1 } }
        }
    }
}
