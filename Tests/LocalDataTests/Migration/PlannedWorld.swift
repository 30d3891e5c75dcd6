import BackendContract
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// The content of a slot, the location of one value in a store.
enum Planted: Int, CaseIterable, Sendable {
    case nothing, first, second, removed, otherType, damaged, expired, later
}

/// A machine with stores in memory, a catalog with every kind of migration, and given contents in the slots of the catalog.
struct PlannedWorld {
    struct Refused: Error {}

    struct Note: Codable, Identifiable, Sendable {
        var id: String
        var text: String
    }

    struct OldNote: Codable, Identifiable, Sendable {
        var id: String
        var words: String
    }

    /// A custom migration. A plan does not run its code.
    struct Own: StorageMigration {
        let destinationKey: StorageKey<String>
        let source: StorageKey<String>
        var sources: [AnyStorageKey] { [.key(source)] }

        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
            if try await router.exists(destinationKey) { return false }
            return try await router.exists(source)
        }

        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            try await context.move(from: source, to: destinationKey) { $0 }
        }
    }

    static let list = StorageDomain.userDefaults(suite: "list")
    static let ring = StorageDomain.keychain(service: "ring")
    static let base = StorageDomain.encryptedSQLite(database: "base")
    static let domains = [list, ring, base]

    let machine = TestMachine { $0.keySource = .keyFile("sealing.key") }
    let contents: [Planted]
    let policy: Int

    // MARK: The catalog

    /// The slots that receive the contents.
    static let places: [(domain: StorageDomain, namespace: StorageNamespace, name: String)] =
        [
            (list, .values, "chain-1"), (ring, .values, "chain-2"), (base, .values, "chain-3"), (list, .values, "shared"),
            (list, .values, "shares-1"), (base, .values, "shares-2"), (base, .values, "evolves"), (list, .values, "plain"),
            (list, .values, "seals"), (list, .values, "own-source"), (base, .values, "own"), (list, .values, "condition-source"),
            (base, .values, "condition"), (list, .values, "whole"),
        ]
        + ["x", "y", "z"].flatMap { id in
            [(base, .collection("notes"), id), (list, .collection("old notes"), id), (base, .collection("parts"), id)]
        }

    private func resolving(_ key: StorageKey<String>) -> StorageKey<String> {
        switch policy % 3 {
        case 0: key
        case 1: key.resolvingConflicts(.sourceWins)
        default: key.resolvingConflicts(.merge { mine, theirs in theirs == "b" ? nil : "\(mine ?? "-")+\(theirs)" })
        }
    }

    var catalog: TestCatalog {
        let second = textKey("chain-2", Self.ring).moved(from: textKey("chain-1", Self.list))
        let shared = textKey("shared", Self.list)
        let condition = StorageKey<String>(
            name: "condition", domain: Self.base, owner: "Tests", description: "A value",
            migration: { destination in
                AnyStorageMigration(
                    ConditionalMigration(
                        SimpleLegacyMigration(destinationKey: destination, sourceKey: textKey("condition-source", Self.list)),
                        when: { router, _ in try await router.exists(textKey("evolves", Self.base)) }))
            })
        let own = StorageKey<String>(
            name: "own", domain: Self.base, owner: "Tests", description: "A value",
            migration: { AnyStorageMigration(Own(destinationKey: $0, source: textKey("own-source", Self.list))) })
        let older = StorageCollection<OldNote>("old notes", domain: Self.list, owner: "Tests", description: "Notes", typeTag: "Note")
        let notes = StorageCollection<Note>("notes", domain: Self.base, owner: "Tests", description: "Notes")
            .evolving(Evolution.from(version: 1).to { $0.remove("words") }.keepingBackup().decoding(Note.self))
            .moved(from: older) { old in
                if old.words == "b", policy > 2 { throw Refused() }
                return Note(id: old.id, text: old.words)
            }
        let parts = StorageCollection<Note>("parts", domain: Self.base, owner: "Tests", description: "Parts")
            .moved(from: testKey("whole", Self.list, of: String.self)) { text in
                if text == "b", policy > 2 { throw Refused() }
                return ["x", "y"].map { Note(id: $0, text: text) }
            }
        return TestCatalog([
            .key(resolving(textKey("chain-3", Self.base).moved(from: second))),
            .key(resolving(textKey("shares-1", Self.list).moved(from: shared))),
            .key(
                resolving(
                    textKey("shares-2", Self.base).moved(from: shared) { text in
                        if text == "b" { throw Refused() }
                        return text
                    })),
            .key(textKey("evolves", Self.base).evolving(Evolution.from(String.self).to { $0 + "!" }.keepingBackup())),
            .key(resolving(textKey("seals", Self.list, .encrypted).moved(from: textKey("plain", Self.list)))), .key(own), .key(condition),
            .collection(notes), .collection(parts),
        ])
    }

    // MARK: Planting

    func plant() async throws {
        let router = machine.launch()
        for (index, place) in Self.places.enumerated() {
            let content = contents[index % contents.count]
            let backend = try router.slots.routes.backend(for: place.domain, key: place.name).1
            let address = StorageAddress(place.name, in: place.namespace)
            var metadata = StorageMetadata(serializer: "json", schemaVersion: 1)
            let isRecord = place.namespace != .values
            if isRecord {
                metadata.typeTag = "Note"
                metadata.attributes["LocalData.version"] = "1"
            }
            switch content {
            case .nothing: continue
            case .removed: _ = try await backend.apply(.tombstone(at: address))
            case .damaged where isRecord: continue
            case .damaged: machine.corrupt(place.domain, name: place.name, bytes: [1, 2, 3])
            default:
                if content == .expired {
                    metadata.expiresAt = 1
                    if isRecord { metadata.attributes["LocalData.expires"] = "yes" }
                }
                if content == .later { metadata.schemaVersion = 9 }
                if isRecord, content == .later { metadata.attributes["LocalData.version"] = "9" }
                _ = try await backend.apply(.put(.bytes(Array(json(content, place.name, isRecord).utf8)), metadata, at: address))
            }
        }
    }

    private func json(_ content: Planted, _ name: String, _ isRecord: Bool) -> String {
        let text = content == .second ? "b" : "a"
        if content == .otherType { return "[1]" }
        return isRecord ? "{\"id\":\"\(name)\",\"words\":\"\(text)\",\"text\":\"\(text)\"}" : "\"\(text)\""
    }

    // MARK: Looking

    /// The number of changes and flushes in the stores of the catalog.
    var changes: Int {
        Self.domains.flatMap { machine.backends(of: $0) }.flatMap(\.log).count { $0.kind == .apply || $0.kind == .synchronize }
    }

    var spelledOut: String {
        Self.places.enumerated().map { "\($1.namespace)/\($1.name): \(contents[$0 % contents.count])" }.joined(separator: ", ")
            + "; policy \(policy)"
    }
}
