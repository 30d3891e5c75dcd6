import LocalData
import LocalDataQueries
import TestSupport
import Testing

/// Collections without `typeTag:`, whose type was renamed or replaced, in every kind of store.
@Suite(.inTurn) struct RenamedTypeTests {
    struct Person: Codable, Equatable, Identifiable {
        var id: String
        var name: String
    }

    /// A person under another name, with the same properties.
    struct Alien: Codable, Equatable, Identifiable {
        var id: String
        var name: String
    }

    /// A type that does not decode the records of `Person`.
    struct Robot: Codable, Equatable, Identifiable {
        var id: String
        var model: Int
    }

    private func people<Record: Identifiable & Codable & Sendable>(
        _ domain: StorageDomain, _ type: Record.Type, typeTag: String? = nil
    ) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection("people", domain: domain, owner: "Tests", description: "People", typeTag: typeTag)
    }

    @Test(arguments: Place.allCases) func `a renamed type reads, lists, queries, changes and removes the older records`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let older = people(domain, Person.self).attribute("name", \.name)
            let newer = people(domain, Alien.self).attribute("name", \.name)
            try await launch().set((0..<300).map { Person(id: "\($0)", name: "Name \($0 % 3)") }, in: older)
            let storage = launch()
            #expect(try await storage.get("7", in: newer) == Alien(id: "7", name: "Name 1"))
            #expect(try await storage.count(in: newer) == 300)
            var ids: Set<String> = []
            for try await alien in storage.records(in: newer) { ids.insert(alien.id) }
            #expect(ids.count == 300)
            #expect(try await storage.count(in: newer, where: \.name == "Name 1") == 100)
            try await storage.set(Alien(id: "7", name: "New"), in: newer)
            try await storage.update("8", in: newer) { $0?.name = "New" }
            try await storage.remove("9", in: newer)
            #expect(try await storage.count(in: newer, where: \.name == "New") == 2)
            // A program with the older name still reads all of them.
            #expect(try await launch().get("8", in: older) == Person(id: "8", name: "New"))
            #expect(try await launch().count(in: older) == 299)
        }
    }

    @Test(arguments: Place.allCases) func `records that do not decode as the new type are neither replaced nor called damaged`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (older, newer) = (people(domain, Person.self), people(domain, Robot.self))
            try await launch().set(Person(id: "a", name: "Ada"), in: older)
            let storage = launch()
            try await storage.set(Robot(id: "b", model: 2), in: newer)
            await #expect { try await storage.get("a", in: newer) } throws: {
                StorageError.incompatibleSchema ~= $0 && "\($0)".contains("migrateAll(from:to:)")
            }
            await #expect { try await storage.set(Robot(id: "a", model: 1), in: newer) } throws: { StorageError.incompatibleSchema ~= $0 }
            await #expect { try await storage.update("a", in: newer) { $0 = Robot(id: "a", model: 1) } } throws: {
                StorageError.incompatibleSchema ~= $0
            }
            await #expect { try await storage.batch { try $0.set(Robot(id: "a", model: 1), in: newer) } } throws: {
                StorageError.incompatibleSchema ~= $0
            }
            // A list is not silently incomplete.
            await #expect(throws: StorageError.self) { for try await _ in storage.records(in: newer) {} }
            try await storage.registerCatalog(OneCollection(newer), migrateImmediately: true)
            #expect(try await storage.audit().quarantine.isEmpty)
            #expect(try await launch().get("a", in: older) == Person(id: "a", name: "Ada"))
        }
    }

    @Test(arguments: Place.allCases) func `migrateAll moves the records of every type name from a collection without a type tag`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let older = people(place.olderDomain, Person.self)
            try await launch().set((0..<300).map { Person(id: "p\($0)", name: "Ada") }, in: older)
            try await launch().set(Alien(id: "a", name: "Ben"), in: people(place.olderDomain, Alien.self))
            let newer = StorageCollection<Alien>("aliens", domain: domain, owner: "Tests", description: "Aliens")
            #expect(try await launch().migrateAll(from: older, to: newer).records == 301)
            #expect(try await launch().count(in: older) == 0)
            #expect(try await launch().get("a", in: newer) == Alien(id: "a", name: "Ben"))
        }
    }

    @Test(arguments: Place.allCases) func `a sweep rewrites no record because its type has another name`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let older = OneCollection(people(domain, Person.self).attribute("name", \.name))
            let newer = OneCollection(people(domain, Alien.self).attribute("name", \.name))
            try await launch().set(Person(id: "a", name: "Ada"), in: people(domain, Person.self).attribute("name", \.name))
            for catalog in [older, newer, older, newer] {
                let report = try await launch().registerCatalog(catalog, migrateImmediately: true)
                #expect(report.rows.map(\.state) == [.unchanged])
            }
        }
    }

    @Test(arguments: Place.allCases) func `a sweep adds attributes once to records whose type has another name`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(Person(id: "a", name: "Ada"), in: people(domain, Person.self))
            let newer = OneCollection(people(domain, Alien.self).attribute("name", \.name))
            for state in [MigrationReport.State.converted, .unchanged] {
                let report = try await launch().registerCatalog(newer, migrateImmediately: true)
                #expect(report.rows.map(\.state) == [state])
            }
        }
    }

    @Test(arguments: Place.allCases) func `a collection with a type tag has only the records with its tag`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (older, newer) = (people(domain, Person.self), people(domain, Alien.self, typeTag: "Alien"))
            try await launch().set(Person(id: "a", name: "Ada"), in: older)
            let storage = launch()
            #expect(try await storage.count(in: newer) == 0)
            await #expect { try await storage.get("a", in: newer) } throws: {
                StorageError.incompatibleSchema ~= $0 && "\($0)".contains("typeTag:")
            }
            await #expect { try await storage.set(Alien(id: "a", name: "Other"), in: newer) } throws: {
                StorageError.incompatibleSchema ~= $0
            }
            #expect(try await storage.migrateAll(from: older, to: newer).records == 1)
            #expect(try await launch().get("a", in: newer) == Alien(id: "a", name: "Ada"))
        }
    }

    private struct OneCollection: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
        init<Record>(_ collection: StorageCollection<Record>) { allKeys = [.collection(collection)] }
    }
}
