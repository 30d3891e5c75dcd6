import BackendContract
import LocalData

/// A key that several versions of the program use.
struct KeptKey: Sendable {
    /// The calls of each version of the program.
    let calls: [Int: KeyCalls]
    let spot: Spot
    /// The legacy location, which version 1 uses.
    let older: OlderPlace
    let rules: WindowModel.Rules

    /// The slot of the mark in the store of a legacy location. In a release window, the library writes a copy of the
    /// value, the mirror, to the legacy location. The mark names the mirrored record.
    static func mark(of older: OlderPlace) -> StorageAddress {
        StorageAddress(older.spot.address.name, in: StorageNamespace("window:\(older.spot.address.namespace.name)"))
    }
}

/// The keys of a run, by the stores between which they move.
enum WindowShape {
    private static let list = StorageDomain.userDefaults(suite: "a")
    private static let otherList = StorageDomain.userDefaults(suite: "c")
    private static let database = StorageDomain.encryptedSQLite(database: "b")
    private static let otherDatabase = StorageDomain.encryptedSQLite(database: "d")
    private static let ring = StorageDomain.keychain(service: "k")
    private static let otherRing = StorageDomain.keychain(service: "m")

    private struct Note: Codable, Sendable { let title: String }
    private struct Pair: Codable, Sendable { let text: String, more: String }
    private struct Line: Codable, Sendable, Identifiable { let id: String, text: String }

    static func keys(_ plan: WindowPlan) -> [KeptKey] {
        plan.beginnings.indices.map { number in
            switch plan.stores {
            case .listToList: text(plan, number, list, otherList)
            case .listToRing: text(plan, number, list, ring)
            case .databaseToDatabase: text(plan, number, otherDatabase, database)
            case .ringToRing: text(plan, number, otherRing, ring)
            case .numbers: self.number(plan, number)
            case .enriched: enriched(plan, number)
            case .records: record(plan, number)
            case .listToDatabase: text(plan, number, list, database)
            }
        }
    }

    private static func key<Value: Codable & Sendable>(_ name: String, _ domain: StorageDomain) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: .none, owner: "Simulation", description: "A value")
    }

    private static func window(_ plan: WindowPlan) -> ReleaseWindow { plan.end == .version ? .until(version: "3") : .untilReleased }

    private static func rules(_ plan: WindowPlan) -> WindowModel.Rules {
        WindowModel.Rules(policy: plan.policy, isApart: plan.stores == .ringToRing, isEnriched: plan.stores == .enriched)
    }

    /// The options for a legacy location in a property list, if the destination has better protection. They allow a
    /// copy of the value to stay in the property list.
    private static let weaker = MigrationOptions(keepsWeakerCopy: true)

    private static func text(_ plan: WindowPlan, _ number: Int, _ from: StorageDomain, _ to: StorageDomain) -> KeptKey {
        let old: StorageKey<String> = key("old\(number)", from)
        let new: StorageKey<String> = key("new\(number)", to)
        let isWeaker = from == list && to != otherList
        let moved = new.moved(from: old, keeping: window(plan), options: isWeaker ? weaker : MigrationOptions())
        var foreign: (@Sendable (String) -> NativeValue)?
        if plan.stores.isShared { foreign = { .string($0) } }
        return declare(moved, OlderPlace(spot: Spot(from, old.name), calls: KeyCalls(old), foreign: foreign), plan, { $0 }, { $0 })
    }

    private static func number(_ plan: WindowPlan, _ number: Int) -> KeptKey {
        let old: StorageKey<Int> = key("old\(number)", list)
        let new: StorageKey<Note> = key("new\(number)", database)
        let calls = KeyCalls(old, text: { Marks.text(of: $0) }, make: { Marks.number(in: $0) })
        let place = OlderPlace(spot: Spot(list, old.name), calls: calls, foreign: { .integer(Int64(Marks.number(in: $0))) })
        let moved = new.moved(from: old, keeping: window(plan), options: weaker) {
            Note(title: Marks.text(of: $0))
        } down: {
            Marks.number(in: $0.title)
        }
        return declare(moved, place, plan, { $0.title }, { Note(title: $0) })
    }

    private static func enriched(_ plan: WindowPlan, _ number: Int) -> KeptKey {
        let old: StorageKey<String> = key("old\(number)", list)
        let new: StorageKey<Pair> = key("new\(number)", database)
        let place = OlderPlace(spot: Spot(list, old.name), calls: KeyCalls(old), foreign: { .string($0) })
        let moved = new.moved(from: old, keeping: window(plan), options: weaker) {
            Pair(text: $0, more: WindowModel.Rules.nothingMore)
        } down: {
            $0.text
        } merge: { older, newer in
            Pair(text: older.text, more: newer.more)
        }
        return declare(moved, place, plan, { WindowModel.Rules.text($0.text, $0.more) }) { text in
            let parts = WindowModel.Rules.parts(of: text)
            return Pair(text: parts.text, more: parts.more)
        }
    }

    /// A record of a collection. It is read by listing the collection, or with its key.
    private static func record(_ plan: WindowPlan, _ number: Int) -> KeptKey {
        func collection(_ name: String, _ domain: StorageDomain) -> StorageCollection<Line> {
            StorageCollection(name, domain: domain, security: .none, owner: "Simulation", description: "Lines", typeTag: "Line")
        }
        let old = collection("old", list)
        let new = collection("new", database).moved(from: old, keeping: window(plan), options: weaker)
        let id = "r\(number)"
        func calls(_ collection: StorageCollection<Line>) -> KeyCalls {
            KeyCalls(collection, id, text: { $0.text }, make: { Line(id: id, text: $0) })
        }
        let place = OlderPlace(spot: Spot(list, id, of: old.name), calls: calls(old), foreign: nil)
        let decided = resolving(plan, { $0.text }, { Line(id: $0.id, text: $1) }).map(new.resolvingConflicts) ?? new
        return kept(calls(decided), Spot(database, id, of: new.name), place, plan)
    }

    private static func resolving<Value: Codable & Sendable>(
        _ plan: WindowPlan, _ text: @escaping @Sendable (Value) -> String, _ make: @escaping @Sendable (Value, String) -> Value
    ) -> ConflictPolicy<Value>? {
        switch plan.policy {
        case .destinationWins: nil
        case .sourceWins: .sourceWins
        case .merge: .merge { mine, other in make(other, ValueModel.resolved(mine.map(text), text(other))) }
        }
    }

    private static func declare<Value: Codable & Sendable>(
        _ key: StorageKey<Value>, _ older: OlderPlace, _ plan: WindowPlan, _ text: @escaping @Sendable (Value) -> String,
        _ make: @escaping @Sendable (String) -> Value
    ) -> KeptKey {
        let key = resolving(plan, text, { make($1) }).map(key.resolvingConflicts) ?? key
        return kept(KeyCalls(key, text: text, make: make), Spot(key.domain, key.name), older, plan)
    }

    private static func kept(_ calls: KeyCalls, _ spot: Spot, _ older: OlderPlace, _ plan: WindowPlan) -> KeptKey {
        var all = [2: calls, 3: calls]
        all[1] = older.calls
        return KeptKey(calls: all, spot: spot, older: older, rules: rules(plan))
    }
}
