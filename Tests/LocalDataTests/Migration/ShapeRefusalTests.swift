import BackendContract
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// What a window of shapes refuses: a shape that cannot be read, a window that cannot be kept, a step back that fails.
@Suite(.inTurn) struct ShapeRefusalTests {
    private static let blue = ThemeV2(title: "Sky", size: 10, accent: "blue")

    @Test func `a newer shape that cannot be read is never left out of the answer`() async throws {
        let machine = TestMachine()
        let domain = StorageDomain.encryptedSQLite(database: "main")
        let two = machine.launch()
        let key = ShapeWorld.key(domain)
        try await two.set(Self.blue, for: key)
        let backend = try two.env.routes.backend(for: domain, key: "").1
        let address = StorageAddress("theme", in: StorageNamespace("shape:2:"))
        guard case .value(var record)? = try await backend.read([address], .fresh).first else { return }
        record.payload = .bytes(Array("{".utf8))
        _ = try await backend.apply([.put(record.payload, record.metadata, at: address)])
        await expectRefusal(StorageError.migrationFailed, of: "theme", saying: "version 2") { _ = try await two.get(key) }
        #expect(await two.sweep(TestCatalog(.key(key))).rows.map(\.state) == [.failed])
        #expect(try await machine.launch().get(ShapeWorld.old(domain)) == ThemeV1(name: "Sky", size: 10))
        try await two.set(Self.blue, for: key)
        #expect(try await two.get(key) == Self.blue)
    }

    // MARK: Refusals

    @Test func `a window that cannot be kept is refused before anything is written`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let bare = testKey("theme", .userDefaults, of: ThemeV2.self)
        let noWayBack = Evolution.from(ThemeV1.self).to { ThemeV2(title: $0.name, size: $0.size) }
        let keys = [
            bare.evolving(noWayBack, keeping: .untilReleased, readableBy: 1),
            bare.evolving(ShapeWorld.two, keeping: .untilReleased, readableBy: 2),
            bare.evolving(ShapeWorld.two, keeping: .untilReleased, readableBy: 0),
            StorageKey(
                name: "theme", domain: .userDefaults,
                serializer: .custom(
                    name: "mine", encode: { try JSONEncoder().encode($0) }, decode: { try JSONDecoder().decode(ThemeV2.self, from: $0) }),
                owner: "Tests", description: "A theme"
            ).evolving(ShapeWorld.two, keeping: .untilReleased, readableBy: 1),
            ShapeWorld.key(.userDefaults).moved(from: bare.version(2), keeping: .untilReleased),
        ]
        for key in keys {
            await expectRefusal(StorageError.invalidEvolution) { try await router.set(Self.blue, for: key) }
            await expectRefusal(StorageError.invalidEvolution) { try await router.registerCatalog(TestCatalog(.key(key))) }
        }
        #expect(try await router.shapes(.userDefaults).isEmpty)
    }

    @Test func `a catalog says that a window is over, and is refused if the window would never end`() async throws {
        func problems(_ version: String?) throws -> [CatalogProblem] {
            var configuration = StorageConfiguration.inMemory()
            configuration.applicationVersion = version
            let key = ShapeWorld.key(.userDefaults, keeping: .until(version: "3.0"))
            return try StorageRouter(configuration: configuration).problems(of: TestCatalog(.key(key)))
        }
        #expect(try problems("2.9").isEmpty)
        #expect(try problems("3.0").map(\.kind) == [.endedWindow])
        #expect(try problems(nil).map(\.kind) == [.unusableWindow] && CatalogProblem.Kind.unusableWindow.refusesCatalog)
    }

    @Test func `a step back that fails refuses the write`() async throws {
        struct Cannot: Error {}
        let router = StorageRouter(configuration: .inMemory())
        let evolution = Evolution.from(ThemeV1.self).to {
            ThemeV2(title: $0.name, size: $0.size)
        } down: { theme -> ThemeV1 in
            if theme.size > 9 { throw Cannot() }
            return ThemeV1(name: theme.title, size: theme.size)
        }
        let key = testKey("theme", .userDefaults, of: ThemeV2.self).evolving(evolution, keeping: .untilReleased, readableBy: 1) { $1 }
        let error = await expectRefusal(StorageError.encodingFailed, of: "theme") { try await router.set(Self.blue, for: key) }
        #expect(error?.underlying is Cannot)
        #expect(try await router.shapes(.userDefaults).isEmpty)
    }
}
