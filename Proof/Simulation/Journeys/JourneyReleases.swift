import BackendContract
import Foundation
import LocalData
import LocalDataQueries

/// The calls that a release makes on one value, which is the value of the key or of a record.
struct JourneyItem: Sendable {
    let value: @Sendable (StorageRouter) async throws -> String?
    let exists: @Sendable (StorageRouter) async throws -> Bool
    /// Stores a text that expires after some seconds, or never for nil.
    let set: @Sendable (StorageRouter, String, Int?) async throws -> Void
    let update: @Sendable (StorageRouter, String) async throws -> String?
    let remove: @Sendable (StorageRouter) async throws -> Void
    let endWindow: @Sendable (StorageRouter) async throws -> Void
}

/// The declarations of a release of a journey.
struct JourneyRelease: Sendable {
    let items: [JourneyItem]
    let catalog: Catalog
    let domain: StorageDomain
    /// The calls on all records; nil for a release that keeps them in one value.
    let records: Records?

    struct Records: Sendable {
        let list: @Sendable (StorageRouter) async throws -> [String: String]
        /// Counts the records whose text is not empty. These are all records.
        let found: @Sendable (StorageRouter) async throws -> [String: String]
        let setAll: @Sendable (StorageRouter, [String]) async throws -> Void
        let clear: @Sendable (StorageRouter) async throws -> Void
    }
}

/// A record of a journey.
struct JourneyNote: Codable, Sendable, Identifiable {
    let id: String
    let text: String
}

extension Journey {
    /// Declares the releases, each with those before as legacy locations.
    func declared() -> [JourneyRelease] {
        var keys: [StorageKey<String>] = []
        var collections: [StorageCollection<JourneyNote>] = []
        return releases.enumerated().map { index, release in
            let (domain, security) = (Self.domain(release.store), Self.security(release.store))
            let options = MigrationOptions(allowsWeakerProtection: true, keepsWeakerCopy: release.hasWindow)
            let plain = StorageKey<String>(name: "value", domain: domain, security: security)
            let attributed = StorageCollection<JourneyNote>("notes \(index)", domain: domain, security: security)
                .attribute("text", \.text)
            var (key, notes) = (plain, attributed)
            switch release.policy {
            case .destinationWins: break
            case .sourceWins: (key, notes) = (key.resolvingConflicts(.sourceWins), notes.resolvingConflicts(.sourceWins))
            case .merge:
                key = key.resolvingConflicts(.merge { Belief.merged($0, $1) })
                notes = notes.resolvingConflicts(.merge { JourneyNote(id: $1.id, text: Belief.merged($0?.text, $1.text)) })
            }
            let sources = release.isChain ? Array(keys.suffix(1)) : keys.map { Self.withoutPast($0) }.reversed()
            for source in sources {
                key =
                    release.hasWindow
                    ? key.moved(from: source, keeping: .untilReleased, options: options) : key.moved(from: source, options: options)
            }
            let older = release.isChain ? Array(collections.suffix(1)) : collections.map { Self.withoutPast($0) }.reversed()
            for source in older {
                let isList = beginsWithList && source.name == "notes 0"
                if isList {
                    notes = notes.moved(from: Self.list(source.domain)) { $0 }
                } else {
                    notes =
                        release.hasWindow
                        ? notes.moved(from: source, keeping: .untilReleased, options: options)
                        : notes.moved(from: source, options: options)
                }
            }
            keys.append(key)
            collections.append(notes)
            if index == 0, beginsWithList { return elements(of: key, Self.list(domain)) }
            let ids = (1..<Self.items).map(Self.id)
            let collection = notes
            @Sendable func texts(_ notes: [JourneyNote]) -> [String: String] {
                Dictionary(notes.map { ($0.id, $0.text) }) { "\($0) and \($1)" }
            }
            return JourneyRelease(
                items: [item(key, { $0 }, { $0 })]
                    + ids.map { id in item(collection.key(id), { $0.text }, { JourneyNote(id: id, text: $0) }) },
                catalog: Catalog(allKeys: [.key(key), .collection(notes)], id: "journey"), domain: domain,
                records: JourneyRelease.Records(
                    list: { router in
                        var all: [JourneyNote] = []
                        for try await note in router.records(in: collection) { all.append(note) }
                        return texts(all)
                    }, found: { texts(try await $0.records(in: collection, where: \.text != "")) },
                    setAll: { router, texts in
                        let all = zip(ids, texts).map { JourneyNote(id: $0, text: $1) }
                        guard domain.kind != .keychain else { return try await router.set(all[0], in: collection) }
                        try await router.set(all, in: collection)
                    }, clear: { try await $0.clear(collection) }))
        }
    }

    static func id(_ item: Int) -> String { "r\(item)" }

    static func list(_ domain: StorageDomain) -> StorageKey<[JourneyNote]> { StorageKey(name: "list", domain: domain) }

    /// Returns the same slot or collection without its legacy locations.
    private static func withoutPast(_ key: StorageKey<String>) -> StorageKey<String> {
        StorageKey(name: key.name, domain: key.domain, security: key.security)
    }

    private static func withoutPast(_ notes: StorageCollection<JourneyNote>) -> StorageCollection<JourneyNote> {
        StorageCollection(notes.name, domain: notes.domain, security: notes.security)
    }

    static func domain(_ store: Store) -> StorageDomain {
        switch store {
        case .list: .userDefaults(suite: "a")
        case .otherList, .sealed: .userDefaults(suite: "c")
        case .database: .encryptedSQLite(database: "b")
        case .ring: .keychain(service: "k")
        }
    }

    private static func security(_ store: Store) -> SecurityPolicy {
        store == .sealed ? .encrypted(.keychain(service: "own keys")) : .automatic
    }

    /// The first release, which keeps all records in one value.
    private func elements(of key: StorageKey<String>, _ list: StorageKey<[JourneyNote]>) -> JourneyRelease {
        let records = (1..<Self.items).map { number -> JourneyItem in
            let id = Self.id(number)
            @Sendable func change(_ router: StorageRouter, _ text: String?) async throws -> String? {
                try await router.update(list) { list -> String? in
                    let old = list?.first { $0.id == id }?.text
                    guard text != nil || old != nil else { return nil }
                    let rest = (list ?? []).filter { $0.id != id } + (text.map { [JourneyNote(id: id, text: $0)] } ?? [])
                    list = rest.isEmpty ? nil : rest
                    return old
                }
            }
            @Sendable func value(_ router: StorageRouter) async throws -> String? {
                try await router.value(for: list)?.first { $0.id == id }?.text
            }
            return JourneyItem(
                value: value, exists: { try await value($0) != nil }, set: { router, text, _ in _ = try await change(router, text) },
                update: { try await change($0, $1) }, remove: { _ = try await change($0, nil) }, endWindow: { _ in })
        }
        return JourneyRelease(
            items: [item(key, { $0 }, { $0 })] + records, catalog: Catalog(allKeys: [.key(key), .key(list)], id: "journey"),
            domain: list.domain, records: nil)
    }

    private func item<Value: Codable & Sendable>(
        _ key: StorageKey<Value>, _ text: @escaping @Sendable (Value) -> String, _ make: @escaping @Sendable (String) -> Value
    ) -> JourneyItem {
        JourneyItem(
            value: { try await $0.value(for: key).map(text) }, exists: { try await $0.exists(key) },
            set: { router, text, seconds in
                if let seconds {
                    try await router.set(make(text), for: key, lifetime: .seconds(seconds))
                } else {
                    try await router.set(make(text), for: key)
                }
            },
            update: { router, new in
                try await router.update(key) { value -> String? in
                    defer { value = make(new) }
                    return value.map(text)
                }
            }, remove: { try await $0.remove(key) }, endWindow: { _ = try await $0.endReleaseWindow(for: key) })
    }
}
