import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// `Data` values are stored as their bytes. Earlier versions stored them as JSON, which can still be read.
@Suite(.inTurn) struct DataFormTests {
    private let picture = Data((0..<3_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    private func key(
        _ domain: StorageDomain, _ security: SecurityPolicy = .automatic, _ serializer: Serializer<Data> = .json
    ) -> StorageKey<Data> {
        StorageKey(name: "picture", domain: domain, security: security, serializer: serializer, owner: "Tests", description: "A picture")
    }

    /// Returns the payload of a key's record: the stored content without the metadata.
    private func payload(_ router: StorageRouter, _ key: StorageKey<Data>) async throws -> StoragePayload {
        try #require(try await router.slots.routes.route(for: .key(key)).probe().record).payload
    }

    /// Writes `picture` as JSON, as earlier versions of this library did.
    private func writeOlderForm(_ router: StorageRouter, _ key: StorageKey<Data>) async throws {
        let route = try router.slots.routes.route(for: .key(key))
        let metadata = StorageMetadata(serializer: "json", typeTag: "Data", schemaVersion: 1)
        let result = try await route.backend.apply(.put(.bytes(Array(try JSONEncoder().encode(picture))), metadata, at: route.address))
        #expect(result.isApplied)
    }

    @Test(arguments: Place.allCases) func `a Data value is stored as its bytes, in every kind of store`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(picture, for: key(domain))
            let stored = try await payload(launch(), key(domain))
            #expect(stored.byteCount == picture.count)
            #expect(try await launch().get(key(domain)) == picture)
            for serializer in [Serializer<Data>.data, .plist] {
                #expect(try await launch().get(key(domain, .automatic, serializer)) == picture, "\(serializer.name)")
            }
            // A key of type `DocumentValue` reads the value as data.
            #expect(try await launch().get(testKey("picture", domain, of: DocumentValue.self)) == .data(picture))
            await expectRefusal(.undecodable) { _ = try await launch().get(textKey("picture", domain)) }
        }
    }

    @Test(arguments: Place.allCases) func `sealing makes a Data value 69 bytes longer`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(picture, for: key(domain, .encrypted))
            #expect(try await payload(launch(), key(domain, .encrypted)).byteCount == picture.count + 69)
            #expect(try await launch().get(key(domain, .encrypted)) == picture)
        }
    }

    #if SQLite
        @Test func `a database with one large Data value is less than 15 percent larger than the value`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let large = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 16) })
            try await router.set(large, for: key(.encryptedSQLite(database: "main")))
            try await router.shutdown()
            let size = try Data(contentsOf: URL(fileURLWithPath: stage.root.path + "/data/databases/main.sqlite")).count
            #expect(Double(size) < Double(large.count) * 1.15, "\(size)")
        }
    #endif

    @Test(arguments: Place.allCases) func `a Data value in the older JSON form can be read, and an update stores it as bytes`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            try await writeOlderForm(launch(), key(domain))
            for serializer in [Serializer<Data>.json, .data, .plist] {
                #expect(try await launch().get(key(domain, .automatic, serializer)) == picture, "\(serializer.name)")
            }
            try await launch().update(key(domain), default: Data()) { $0.append(1) }
            #expect(try await payload(launch(), key(domain)).byteCount == picture.count + 1)
        }
    }

    @Test func `a legacy Data value that is stored as JSON does not conflict with an equal value that is stored as bytes`() async throws {
        let machine = TestMachine()
        let older = key(.encryptedSQLite(database: "older"))
        let moved = key(.encryptedSQLite(database: "main")).moved(from: older)
        try await machine.launch().set(picture, for: key(.encryptedSQLite(database: "main")))
        try await writeOlderForm(machine.launch(), older)
        let router = machine.launch()
        let report = await router.sweep(TestCatalog(.key(moved)))
        #expect(report.rows.map(\.state) == [.purged], "\(report.rows)")
        #expect(try await router.get(moved) == picture)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a chain of schema versions can begin with a Data value that is stored as JSON or as bytes`(isOlder: Bool) async throws {
        let machine = TestMachine()
        let plain = key(.encryptedSQLite(database: "main"))
        if isOlder {
            try await writeOlderForm(machine.launch(), plain)
        } else {
            try await machine.launch().set(picture, for: plain)
        }
        let counted: StorageKey<Int> = testKey("picture", plain.domain, of: Int.self).evolving(Evolution.from(Data.self).to { $0.count })
        #expect(try await machine.launch().get(counted) == picture.count)
    }

    @Test func `a migration plan that renames a key keeps the Data value of the key unchanged`() async throws {
        let machine = TestMachine()
        let domain = StorageDomain.encryptedSQLite(database: "main")
        try await machine.launch().set(picture, for: key(domain))
        let portrait = StorageKey<Data>(name: "portrait", domain: domain, owner: "Tests", description: "A picture")
        let plan = AdHocMigration("V1") { RenameEntity("picture", to: "portrait") }
        let router = machine.launch()
        try await router.registerCatalog(
            TestCatalog([.key(portrait)], CatalogSchema("V2", entities: [EntityDescription("portrait", [])])),
            migrationPolicy: .adHoc(migrations: [plan])
        ).sweep.requireComplete()
        #expect(try await router.get(portrait) == picture)
        #expect(try await payload(router, portrait).byteCount == picture.count)
    }
}
