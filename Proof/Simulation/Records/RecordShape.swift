import BackendContract
import LocalData
import LocalDataQueries

/// The calls that a program can make on one record. Each takes and returns the record's text instead of the record.
struct RecordCalls: Sendable {
    let value: @Sendable (StorageRouter) async throws -> String?
    let set: @Sendable (StorageRouter, String) async throws -> Void
    let update: @Sendable (StorageRouter, String?) async throws -> String?
    let remove: @Sendable (StorageRouter) async throws -> Void
    let exists: @Sendable (StorageRouter) async throws -> Bool
    let restore: @Sendable (StorageRouter, Int) async throws -> Int?
}

/// The records that a program of one version declares, and its calls.
struct RecordProgram: Sendable {
    let records: [RecordCalls]
    let catalog: [AnyStorageKey]
    /// Lists all records with their ids; nil for single keys.
    var all: (@Sendable (StorageRouter) async throws -> [(id: String, text: String)])?
    /// Returns the ids of the records with a text, and their number by a count; nil for programs without queries.
    var find: (@Sendable (StorageRouter, String) async throws -> (ids: [String], count: Int))?
    /// Stores several records in one commit.
    var setMany: (@Sendable (StorageRouter, [(record: Int, text: String)]) async throws -> Void)?
    /// Migrates all records. It is nil for programs that need no such request.
    var carry: (@Sendable (StorageRouter) async throws -> Int)?
}

/// The keys and collections of a kind, as the programs of each version declare them.
struct RecordShape: Sendable {
    /// The record type of version 1.
    struct First: Codable, Sendable, Shaped {
        let id: String
        let name: String
        init(_ id: String, _ text: String) { (self.id, name) = (id, text) }
        var text: String { name }
    }

    struct Second: Codable, Sendable, Shaped {
        let id: String
        let title: String
        init(_ id: String, _ text: String) { (self.id, title) = (id, text) }
        init(_ first: First) { self.init(first.id, first.name) }
        var text: String { title }
    }

    struct Third: Codable, Sendable, Shaped {
        let id: String
        let title: String
        let note: Int
        init(_ id: String, _ text: String) { (self.id, title, note) = (id, text, 0) }
        init(_ second: Second) { self.init(second.id, second.title) }
        var text: String { title }
    }

    /// A record that no later version can read. It has the type tag of version 1.
    private struct Unreadable: Codable, Sendable { let broken: Int }

    let plan: RecordPlan
    var kind: RecordKind { plan.kind }

    private static let oldList = StorageDomain.userDefaults(suite: "a")

    var domain: StorageDomain {
        switch plan.place {
        case .list, .sealed: .userDefaults(suite: "c")
        case .database: .encryptedSQLite(database: "b")
        case .ring: .keychain(service: "k")
        }
    }

    private func medium(_ domain: StorageDomain) -> String { Spot(domain, "").medium }

    /// The store of the records at the end of a run.
    var place: String { medium(domain) }

    /// The store of the records at the beginning of a run.
    var olderPlace: String { kind.hasOlder ? medium(Self.oldList) : place }

    private var security: SecurityPolicy { plan.place == .sealed ? .encrypted(.keychain(service: "own keys")) : .automatic }

    var media: [String] {
        (kind.hasOlder ? [olderPlace] : []) + [place, "own quarantine"] + (plan.place == .sealed ? ["keychain own keys"] : [])
            + (kind == .referring && plan.place == .sealed ? [medium(Apart.domain)] : [])
    }

    static func id(_ record: Int) -> String { "r\(record)" }
    static let unreadableID = "r8"

    /// The slot of the damaged record.
    var damagedAddress: StorageAddress { StorageAddress("r9", in: StorageNamespace("collection:notes")) }
    static let damage = Array("damage 9".utf8)

    func address(_ record: Int) -> StorageAddress {
        kind.isCollection ? StorageAddress(Self.id(record), in: StorageNamespace("collection:notes")) : StorageAddress(Self.id(record))
    }

    /// The slot of a record in the legacy location. All records of a list share one slot.
    func olderAddress(_ record: Int) -> StorageAddress? {
        guard kind.hasOlder else { return nil }
        switch kind {
        case .listed: return StorageAddress("list")
        case .movedVersions, .expiring: return StorageAddress("old-\(Self.id(record))")
        default: return StorageAddress(Self.id(record), in: StorageNamespace("collection:old"))
        }
    }

    /// The type tag that every record must have at the end.
    var latestTag: String {
        switch kind {
        case .retagged, .carried: "Renamed"
        case .records, .referring: "Note"
        case .versions, .enumerated, .movedVersions: "Third"
        case .listed, .gathered, .expiring, .expiringRecords: "Second"
        }
    }

    // MARK: Declarations

    private func security(in domain: StorageDomain) -> SecurityPolicy { domain == self.domain ? security : .automatic }

    private func key<Value: Codable & Sendable>(_ name: String, _ domain: StorageDomain) -> StorageKey<Value> {
        let key = StorageKey<Value>(name: name, domain: domain, security: security(in: domain), owner: "Simulation", description: "A value")
        return plan.lifetime.map { key.expiring(after: .seconds($0)) } ?? key
    }

    private func collection<Value: Codable & Sendable & Shaped>(
        _ name: String, _ domain: StorageDomain, typeTag: String? = nil
    ) -> StorageCollection<Value> {
        let collection = StorageCollection<Value>(
            name, domain: domain, security: security(in: domain), owner: "Simulation", description: "Records", typeTag: typeTag
        ) { $0.id }
        return plan.lifetime.map { collection.expiring(after: .seconds($0)) } ?? collection
    }

    /// Converts values of version 1 into values of version 2. The kind `enumerated` does this with one closure for all
    /// versions, other kinds with a step.
    private var toSecond: DocumentEvolution {
        if kind == .enumerated {
            return Evolution.from().enumerating { version, old, new in
                guard version == 1, old["name"] != nil else { throw Unexpected() }
                new.rename("name", to: "title")
            }.keepingBackup()
        }
        return Evolution.from().to { $0.rename("name", to: "title") }.keepingBackup()
    }

    private var toThird: DocumentEvolution {
        guard kind == .enumerated else { return toSecond.to { $0.add("note", default: 0) } }
        return toSecond.enumerating { version, old, new in
            guard (version == 1) == (old["name"] != nil) else { throw Unexpected() }
            new.rename("name", to: "title")
            new["note"] = 0
        }
    }

    private struct Unexpected: Error {}

    /// The declarations of the program of a version.
    func program(_ version: Int) -> RecordProgram {
        switch kind {
        case .versions, .enumerated: versionsOfKeys(version)
        case .movedVersions: movedKeys(version)
        case .expiring: version == 1 ? keys { old($0) } : keys { id in resolving(key(id, domain).moved(from: old(id)) { Second($0) }, id) }
        case .records: versionsOfRecords(version)
        case .referring:
            switch plan.place {
            case .list: referring(version, Beside.self)
            case .database: referring(version, Together.self)
            case .ring: referring(version, Single.self)
            case .sealed: referring(version, Apart.self)
            }
        case .retagged: version == 1 ? records(tagged(First.self)) : retagging
        case .carried: version == 1 ? records(oldRecords) : carrying
        case .listed: version == 1 ? elements : listed
        case .gathered, .expiringRecords:
            version == 1 ? records(oldRecords) : records(resolving(collection("notes", domain).moved(from: oldRecords) { Second($0) }))
        }
    }

    /// Adds the conflict policy of the plan to a key.
    private func resolving<Value: Codable & Sendable & Shaped>(_ key: StorageKey<Value>, _ id: String) -> StorageKey<Value> {
        switch plan.policy {
        case .destinationWins: key
        case .sourceWins: key.resolvingConflicts(.sourceWins)
        case .merge: key.resolvingConflicts(.merge { Value(id, ValueModel.resolved($0?.text, $1.text)) })
        }
    }

    /// Adds the conflict policy of the plan to a collection.
    private func resolving<Value: Codable & Sendable & Shaped>(_ collection: StorageCollection<Value>) -> StorageCollection<Value> {
        switch plan.policy {
        case .destinationWins: collection
        case .sourceWins: collection.resolvingConflicts(.sourceWins)
        case .merge: collection.resolvingConflicts(.merge { Value($1.id, ValueModel.resolved($0?.text, $1.text)) })
        }
    }

    private func old(_ id: String) -> StorageKey<First> { key("old-\(id)", Self.oldList) }
    private var oldRecords: StorageCollection<First> { collection("old", Self.oldList) }

    private func versionsOfKeys(_ version: Int) -> RecordProgram {
        switch version {
        case 1: keys { key($0, domain) as StorageKey<First> }
        case 2: keys { (key($0, domain) as StorageKey<Second>).evolving(toSecond) }
        default: keys { (key($0, domain) as StorageKey<Third>).evolving(toThird) }
        }
    }

    private func movedKeys(_ version: Int) -> RecordProgram {
        switch version {
        case 1: return keys { old($0) }
        case 2:
            return keys { id in
                resolving((key(id, domain) as StorageKey<Second>).evolving(toSecond).moved(from: old(id)) { Second($0) }, id)
            }
        default:
            // Values in the legacy location are read as values of version 2. The move to the destination converts them
            // into values of version 3.
            let steps = Evolution.from(First.self).to { Second($0) }
            return keys { id in
                let second: StorageKey<Second> = key("old-\(id)", Self.oldList)
                let third = (key(id, domain) as StorageKey<Third>).evolving(toThird).moved(from: second.evolving(steps)) { Third($0) }
                return resolving(third, id)
            }
        }
    }

    private func versionsOfRecords(_ version: Int) -> RecordProgram {
        switch version {
        case 1: return records(tagged() as StorageCollection<First>)
        case 2: return records((tagged() as StorageCollection<Second>).evolving(toSecond))
        default: return records((tagged() as StorageCollection<Third>).evolving(toThird))
        }
    }

    private func tagged<Value: Codable & Sendable & Shaped>() -> StorageCollection<Value> {
        StorageCollection<Value>(
            "notes", domain: domain, security: security, owner: "Simulation", description: "Records", typeTag: "Note"
        ) { $0.id }
    }

    /// The program of a version in which each record refers to another record, which has the text. To read the text,
    /// the program reads both records.
    private func referring<Place: ChildPlace>(_ version: Int, _ place: Place.Type) -> RecordProgram {
        if version == 1 { return records(tagged() as StorageCollection<First>) }
        let holders = (tagged() as StorageCollection<Holder<Place>>).evolving(
            Evolution.from(version: 1).decoding(First.self).to { Holder<Place>($0.id, $0.text) }.keepingBackup())
        let program = records(holders)
        let records = program.records.enumerated().map { number, calls in
            let key = holders.key(Self.id(number))
            return RecordCalls(
                value: { router in
                    guard let holder = try await router.value(for: key) else { return nil }
                    do { return try await router.resolve(holder.child).text } catch StorageError.notFound { return "nothing" }
                }, set: calls.set, update: calls.update, remove: calls.remove, exists: calls.exists, restore: calls.restore)
        }
        return RecordProgram(records: records, catalog: program.catalog, all: program.all, setMany: program.setMany)
    }

    /// A record with the fields of `First`. Only its type tag differs.
    private struct Renamed: Codable, Sendable, Shaped {
        let id: String
        let name: String
        init(_ id: String, _ text: String) { (self.id, name) = (id, text) }
        var text: String { name }
    }

    /// Returns the collection of a type that has only records of this type, or of one whose type has another name in each version.
    private func tagged<Value: Codable & Sendable & Shaped>(_ type: Value.Type) -> StorageCollection<Value> {
        collection("notes", domain, typeTag: plan.isRenamed ? nil : String(describing: type))
    }

    private var retagging: RecordProgram {
        let notes = tagged(Renamed.self)
        var program = records(notes)
        program.carry = { try await Self.count($0.migrateAll(from: "First", to: notes)) }
        return program
    }

    private var carrying: RecordProgram {
        let notes: StorageCollection<Renamed> = collection("notes", domain)
        let old = oldRecords
        var program = records(notes)
        program.carry = { try await Self.count($0.migrateAll(from: old, to: notes)) }
        return program
    }

    private static func count(_ result: MigrationResult) -> Int { result.records ?? 0 }

    private var list: StorageKey<[First]> { key("list", Self.oldList) }

    private var listed: RecordProgram {
        records(resolving(collection("notes", domain).moved(from: list) { $0.map { Second($0) } }))
    }

    /// The program of version 1, which stores all records as a list under one key.
    private var elements: RecordProgram {
        let list = list
        let records = (0..<plan.count).map { number in
            let id = Self.id(number)
            @Sendable func change(_ router: StorageRouter, _ text: String?) async throws -> String? {
                try await router.update(list) { list -> String? in
                    let old = list?.first { $0.id == id }?.text
                    guard text != nil || old != nil else { return nil }
                    let rest = (list ?? []).filter { $0.id != id } + (text.map { [First(id, $0)] } ?? [])
                    list = rest.isEmpty ? nil : rest
                    return old
                }
            }
            return RecordCalls(
                value: { try await $0.value(for: list)?.first { $0.id == id }?.text }, set: { _ = try await change($0, $1) },
                update: { try await change($0, $1) }, remove: { _ = try await change($0, nil) },
                exists: { try await $0.value(for: list)?.contains { $0.id == id } ?? false }, restore: { _, _ in nil })
        }
        return RecordProgram(records: records, catalog: [.key(list)])
    }

    /// Stores a record that cannot be migrated.
    func spoil(_ router: StorageRouter) async throws {
        let (name, domain) = kind == .carried ? ("old", Self.oldList) : ("notes", self.domain)
        let collection = StorageCollection<Unreadable>(
            name, domain: domain, security: security(in: domain), owner: "Simulation", description: "Records", typeTag: "First"
        ) { _ in Self.unreadableID }
        try await router.set(Unreadable(broken: 1), in: collection)
    }

    // MARK: Calls

    private func calls<Value: Codable & Sendable & Shaped>(_ key: StorageKey<Value>, _ id: String) -> RecordCalls {
        let calls = KeyCalls(key, text: { $0.text }, make: { Value(id, $0) })
        return RecordCalls(
            value: calls.value, set: calls.set, update: calls.update, remove: calls.remove, exists: calls.exists,
            restore: { try await $0.restoreBackup(for: key, version: $1) })
    }

    private func keys<Value: Codable & Sendable & Shaped>(_ make: (String) -> StorageKey<Value>) -> RecordProgram {
        let keys = (0..<plan.count).map { make(Self.id($0)) }
        return RecordProgram(
            records: keys.enumerated().map { calls($1, Self.id($0)) }, catalog: keys.map { .key($0) },
            setMany: { router, texts in
                try await router.batch { batch in
                    for (record, text) in texts { batch.set(Value(Self.id(record), text), for: keys[record]) }
                }
            })
    }

    private func records<Value: Codable & Sendable & Shaped>(_ declared: StorageCollection<Value>) -> RecordProgram {
        let isQueried = plan.isQueried && Value.self != First.self
        let collection = isQueried ? declared.attribute("text", \.text) : declared
        let find: @Sendable (StorageRouter, String) async throws -> (ids: [String], count: Int) = { router, text in
            let found = try await router.records(in: collection, where: \.text == text, onDamage: .skip)
            return (found.map(\.id).sorted(), try await router.count(in: collection, where: \.text == text, onDamage: .skip))
        }
        return RecordProgram(
            records: (0..<plan.count).map { calls(collection.key(Self.id($0)), Self.id($0)) }, catalog: [.collection(collection)],
            all: { [isDamaged = plan.isDamaged, damagedName = damagedAddress.name] router in
                var found: [(id: String, text: String)] = []
                let report = DamagePolicy.report { record, reason in
                    guard isDamaged, record.name == damagedName else { throw reason }
                }
                for try await record in router.records(in: collection, onDamage: report) { found.append((record.id, record.text)) }
                return found
            }, find: isQueried ? find : nil,
            setMany: { router, texts in try await router.set(texts.map { Value(Self.id($0.record), $0.text) }, in: collection) })
    }
}

/// A record of any version.
protocol Shaped {
    init(_ id: String, _ text: String)
    var id: String { get }
    var text: String { get }
}

/// Names the store of the referenced records. It may also contain the records that refer to them.
protocol ChildPlace: Sendable {
    static var domain: StorageDomain { get }
}

/// The property list that also contains the referring records.
enum Beside: ChildPlace { static var domain: StorageDomain { .userDefaults(suite: "c") } }
/// The database that also contains the referring records.
enum Together: ChildPlace { static var domain: StorageDomain { .encryptedSQLite(database: "b") } }
/// The keyring that also contains the referring records. It has no common commit for two records.
enum Single: ChildPlace { static var domain: StorageDomain { .keychain(service: "k") } }
/// A keyring. The records that refer to these records are in a property list.
enum Apart: ChildPlace { static var domain: StorageDomain { .keychain(service: "d") } }

/// A record to which other records refer.
struct Child<Place: ChildPlace>: StoredEntity {
    let id: String
    let text: String

    static var collection: StorageCollection<Self> {
        StorageCollection("children", domain: Place.domain, owner: "Simulation", description: "What others refer to", typeTag: "Child")
    }

    /// Creates the record of a text. Its id encodes the number of the text in base 7, with letters as digits. So
    /// `Holder` can derive the text from the id, although the id does not contain it.
    init(_ text: String) {
        let letters = String(Marks.number(in: text), radix: 7).utf8.map { Character(Unicode.Scalar($0 - 48 + 97)) }
        (id, self.text) = ("c" + String(letters), text)
    }
}

/// A record whose text is in another record.
struct Holder<Place: ChildPlace>: Codable, Sendable, Shaped {
    let id: String
    let child: StorageReference<Child<Place>>
    init(_ id: String, _ text: String) { (self.id, child) = (id, StorageReference(Child(text))) }
    var text: String { Marks.text(of: child.id.dropFirst().reduce(0) { $0 * 7 + Int($1.asciiValue ?? 97) - 97 }) }
}
