import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// The scenarios of programs that move here from GarageStorage, numbered GS1 to GS7, in every kind of store.
@Suite(.inTurn, .tags(.scenario)) struct GarageScenarioTests {
    struct Address: Codable, Equatable {
        var street: String?
        var city: String
    }

    struct OldPerson: Codable, Equatable, Identifiable {
        var id: String
        var name: String
        var address: Address
    }

    struct Person: Codable, Equatable, Identifiable {
        var id: String
        var name: String
        var address: Address?
    }

    /// Returns the collection of a type, as in GarageStorage: it has only the records of this type.
    static func people<Record: Identifiable>(_ domain: StorageDomain, _ type: Record.Type) -> StorageCollection<Record>
    where Record.ID: Sendable {
        StorageCollection("people", domain: domain, owner: "Tests", description: "People", typeTag: String(describing: Record.self))
    }

    static func oldPeople(_ count: Int) -> [OldPerson] {
        (0..<count).map {
            OldPerson(id: "p\($0)", name: "Person \($0)", address: Address(street: $0 % 2 == 0 ? nil : "Main", city: "Graz"))
        }
    }

    @Test(arguments: Place.allCases) func `migrateAll gives every record the new type and leaves none with the old one`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (old, new) = (Self.people(domain, OldPerson.self), Self.people(domain, Person.self))
            try await launch().set(Self.oldPeople(300), in: old)
            let router = launch()
            // Before the migration, the new type neither finds nor overwrites the records.
            #expect(try await router.count(in: new) == 0)
            await #expect { try await router.value("p7", in: new) } throws: {
                // The error names both ways to read the record.
                StorageError.incompatibleSchema ~= $0 && "\($0)".contains("typeTag:") && "\($0)".contains("migrateAll(from:to:)")
            }
            await #expect { try await router.set(Person(id: "p7", name: "Other"), in: new) } throws: {
                StorageError.incompatibleSchema ~= $0
            }
            let result = try await router.migrateAll(from: old, to: new)
            #expect(result.records == 300)
            for router in [router, launch()] {
                #expect(
                    try await router.get("p7", in: new)
                        == Person(id: "p7", name: "Person 7", address: Address(street: "Main", city: "Graz")))
                #expect(try await router.get("p8", in: new).address == Address(street: nil, city: "Graz"))
                #expect(try await router.count(in: old) == 0)
                #expect(try await router.count(in: new) == 300)
            }
        }
    }

    @Test(arguments: Place.allCases) func `migrateAll moves records to another collection in another domain`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = Self.people(place.olderDomain, OldPerson.self)
            let new = StorageCollection<Person>("persons", domain: domain, owner: "Tests", description: "People")
            try await launch().set(Self.oldPeople(300), in: old)
            #expect(try await launch().migrateAll(from: old, to: new).records == 300)
            #expect(try await launch().migrateAll(from: old, to: new).records == 0)
            let router = launch()
            #expect(try await router.count(in: old) == 0)
            #expect(try await router.count(in: new) == 300)
            #expect(try await router.get("p9", in: new).name == "Person 9")
        }
    }

    // MARK: GS2

    struct Sam: StoredEntity, Equatable {
        var id: String
        var importantDates: [Date] = []
        var home: Address?
        var brother: StorageReference<Sam>?
        var siblings: [StorageReference<Sam>] = []
        var boss: StorageReference<Sam>?

        static let database = TaskLocal<StorageDomain>(wrappedValue: .memory())
        static var collection: StorageCollection<Sam> {
            StorageCollection("sams", domain: database.get(), owner: "Tests", description: "Sams")
        }
    }

    @Test(arguments: Place.allCases)
    func `child records with an id are stored once and found by id, and other children are stored inside their parent`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            try await Sam.database.withValue(domain) {
                let nick = Sam(id: "Nick")
                let siblings = [nick, Sam(id: "Emily", brother: StorageReference(nick))]
                let dates = [0.0, 1_000_000, 2_000_000].map(Date.init(timeIntervalSinceReferenceDate:))
                let sam = Sam(
                    id: "Sam", importantDates: dates, home: Address(street: nil, city: "Graz"), brother: StorageReference(nick),
                    siblings: siblings.map { StorageReference($0) }, boss: StorageReference(id: "Nobody"))
                try await launch().set(sam, in: Sam.collection)
                let router = launch()
                #expect(try await router.count(in: Sam.collection) == 3)
                let found = try await router.get("Sam", in: Sam.collection)
                #expect(found.importantDates == dates)
                #expect(found.home == Address(street: nil, city: "Graz"))
                #expect(try await router.resolve(found.brother)?.id == "Nick")
                var names: [String] = []
                for sibling in found.siblings { names.append(try await router.resolve(sibling).id) }
                #expect(names == ["Nick", "Emily"])
                let emily = try await router.get("Emily", in: Sam.collection)
                #expect(try await router.resolve(emily.brother)?.id == "Nick")
                // An optional reference to a missing record is nil. A required one throws an error with the missing id.
                #expect(try await router.resolve(found.boss) == nil)
                await #expect { try await router.resolve(StorageReference<Sam>(id: "Nobody")) } throws: {
                    StorageError.notFound ~= $0 && ($0 as? StorageError)?.keyName == "Nobody"
                }
                // The child is one record, so a change of it is visible through every reference.
                try await router.update("Nick", in: Sam.collection) { $0?.home = Address(street: "New", city: "Linz") }
                #expect(try await router.resolve(emily.brother)?.home?.city == "Linz")
                #expect(try await router.resolve(found.siblings[0]).home?.city == "Linz")
            }
        }
    }

    // MARK: GS3

    struct Migrated: Codable, Equatable, Identifiable {
        var id: String
        @Migratable var address: Address
        @Migratable var birthplace: Address?
        @Migratable var grave: Address?
    }

    @Test(arguments: Place.allCases)
    func `a Migratable property is read from a text that contains JSON, and is nil if it is null or missing`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = StorageCollection<StoredDocument>(
                "people", domain: domain, owner: "Tests", description: "People", typeTag: "Migrated", id: { $0["id"]?.string ?? "" })
            try await launch().set(
                StoredDocument(["id": "sam", "address": "{\"street\":\"Main\",\"city\":\"Graz\"}", "birthplace": nil]), in: old)
            let new = Self.people(domain, Migrated.self)
            let router = launch()
            var sam = try await router.get("sam", in: new)
            #expect(sam == Migrated(id: "sam", address: Address(street: "Main", city: "Graz"), birthplace: nil, grave: nil))
            sam.birthplace = Address(street: nil, city: "Linz")
            try await router.set(sam, in: new)
            // After the value was written again, it is stored as an object and not as a text.
            let document = try await launch().value(for: old.key("sam"))
            #expect(document?["address.city"] == "Graz")
            #expect(document?["birthplace.city"] == "Linz")
            #expect(document?["grave"] == nil)
            #expect(try await launch().get("sam", in: new) == sam)
        }
    }

    // MARK: GS4

    @Test(arguments: Place.allCases) func `the sync status of a record survives a migration and can be queried`(place: Place) async throws {
        struct Demanding: Codable, Identifiable {
            var id: String
            var syncStatus: String
        }
        try await place.withLaunches { launch, domain in
            let (old, new) = (Self.people(domain, OldPerson.self), Self.people(domain, Person.self))
            let people = Self.oldPeople(20)
            let router = launch()
            try await router.set(people.prefix(15), in: old, syncStatus: .synced)
            try await router.set(people.suffix(5), in: old, syncStatus: .notSynced, attributes: ["origin": "phone"])
            // A type with the status as a property of the record gets a typed error, and nothing is changed.
            await #expect { try await router.migrateAll(from: old, to: Self.people(domain, Demanding.self)) } throws: {
                StorageError.undecodable ~= $0
            }
            #expect(try await router.count(in: old) == 20)
            try await router.migrateAll(from: old, to: new)
            let reader = launch()
            #expect(try await reader.count(in: new, .syncStatus(.notSynced)) == 5)
            #expect(try await reader.storedValue("p19", in: new)?.syncStatus == .notSynced)
            #expect(try await reader.storedValue("p3", in: new)?.syncStatus == .synced)
            var found: Set<String> = []
            for try await record in reader.storedRecords(in: new, .syncStatus(.notSynced).and(.attribute("origin", "phone"))) {
                #expect(record.attributes == ["syncStatus": "notSynced", "origin": "phone"])
                found.insert(record.id)
            }
            #expect(found == Set(people.suffix(5).map(\.id)))
            // Storing a record again keeps its status, unless a new status is given.
            try await reader.set(Person(id: "p19", name: "New"), in: new)
            #expect(try await reader.storedValue("p19", in: new)?.syncStatus == .notSynced)
            try await reader.set(Person(id: "p19", name: "New"), in: new, syncStatus: .synced)
            #expect(try await reader.count(in: new, .syncStatus(.notSynced)) == 4)
        }
    }

    @Test(arguments: Place.allCases) func `records that were modified since a date are found`(place: Place) async throws {
        let clock = TestClock()
        try await place.withLaunches(clock: clock) { launch, domain in
            let people = Self.people(domain, Person.self)
            let router = launch()
            for day in 0..<4 {
                try await router.set((0..<10).map { Person(id: "\(day)-\($0)", name: "N") }, in: people)
                clock.advance(by: .seconds(86_400))
            }
            let since = Date(timeIntervalSince1970: clock.shifted.wallSeconds - 1.5 * 86_400)
            #expect(try await launch().count(in: people, .modified(since: since)) == 10)
            #expect(try await launch().count(in: people, .modified(since: since.addingTimeInterval(-86_400))) == 20)
        }
    }

    // MARK: GS5, GS6, GS7

    @Test(arguments: Place.allCases) func `one record that cannot be decoded stops migrateAll for all records`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = StorageCollection<StoredDocument>(
                "people", domain: domain, owner: "Tests", description: "People", typeTag: "OldPerson", id: { $0["id"]?.string ?? "" })
            var documents = (0..<600).map { StoredDocument(["id": .string("p\($0)"), "name": "N", "address": ["city": "Graz"]]) }
            documents[599].remove("name")
            let router = launch()
            try await router.set(documents, in: old)
            let new = Self.people(domain, Person.self)
            await #expect { try await router.migrateAll(from: "OldPerson", to: new) } throws: {
                StorageError.undecodable ~= $0 && ($0 as? StorageError)?.keyName == "p599"
            }
            #expect(try await router.count(in: old) == 600)
            #expect(try await router.count(in: new) == 0)
            #expect(try await router.value(for: old.key("p599")) == documents[599])
            documents[599]["name"] = "N"
            try await router.set(documents[599], in: old)
            #expect(try await router.migrateAll(from: "OldPerson", to: new).records == 600)
            #expect(try await router.migrateAll(from: "OldPerson", to: new).records == 0)
            #expect(try await launch().count(in: new) == 600)
        }
    }

    @Test(arguments: Place.allCases) func `a batch of records is applied as a whole or not at all`(place: Place) async throws {
        struct Stop: Error {}
        try await place.withLaunches { launch, domain in
            let people = Self.people(domain, Person.self)
            let router = launch()
            try await router.set(Person(id: "gone", name: "Gone"), in: people)
            await #expect(throws: Stop.self) {
                try await router.batch { batch in
                    for number in 0..<500 { try batch.set(Person(id: "\(number)", name: "N"), in: people) }
                    throw Stop()
                }
            }
            #expect(try await launch().count(in: people) == 1)
            try await router.batch { batch in
                for number in 0..<500 { try batch.set(Person(id: "\(number)", name: "N"), in: people) }
                batch.remove("gone", in: people)
            }
            #expect(try await launch().count(in: people) == 500)
        }
    }

    @Test(arguments: Place.allCases) func `a migration reports when it last worked and how many records are pending`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = Self.people(domain, OldPerson.self)
            try await launch().set(Self.oldPeople(40), in: old)
            let chained = Self.people(domain, Person.self).evolving(Evolution.from(version: 1).to { $0["name"] = "Evolved" })
            let router = launch()
            let before = try await router.migration(from: "OldPerson", to: chained)
            #expect(before.pending == 40)
            #expect(before.lastWorked == nil)
            #expect(!before.isSafeToDelete)
            try await router.migrateAll(from: old, to: Self.people(domain, Person.self))
            let after = try await router.migration(from: "OldPerson", to: chained)
            #expect(after.pending == 0)
            #expect(after.lastWorked != nil)
            #expect(after.isSafeToDelete)
            // The chain of versions is a separate migration.
            try await router.registerCatalog(TestCatalog([.collection(chained)]))
            #expect(try await router.migrations().map(\.pending) == [40])
            await router.sweep()
            let next = launch()
            try await next.registerCatalog(TestCatalog([.collection(chained)]))
            let done = try await next.migrations()
            #expect(done.map(\.pending) == [0])
            #expect(done.allSatisfy { $0.lastWorked != nil })
            #expect(try await router.get("p3", in: chained).name == "Evolved")
        }
    }
}
