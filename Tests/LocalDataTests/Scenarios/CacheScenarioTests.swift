import Foundation
import LocalData
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// The scenarios of programs that move here from the Cache library, in every kind of store. A sweep visits all keys of
/// a catalog, migrates their values, and purges expired values. A slot is the location of one value in a store.
@Suite(.inTurn, .tags(.scenario)) struct CacheScenarioTests {
    struct Person: Codable, Equatable {
        var firstName: String
        var lastName: String
    }

    struct Alien: Codable, Equatable {
        var firstName: String
        var lastName: String
    }

    struct Person1: Codable, Equatable { var fullName: String }

    typealias Person2 = Person

    static func split(_ person: Person1) throws -> Person2 {
        let parts = person.fullName.split(separator: " ").map(String.init)
        guard parts.count == 2 else { throw CocoaError(.formatting) }
        return Person2(firstName: parts[0], lastName: parts[1])
    }

    private func key<Value>(_ domain: StorageDomain, _ type: Value.Type, serializer: Serializer<Value> = .json) -> StorageKey<Value> {
        StorageKey(name: "person", domain: domain, serializer: serializer, owner: "Tests", description: "A person")
    }

    @Test(arguments: Place.allCases) func `a value is read as another type with the same properties`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(Person(firstName: "John", lastName: "Snow"), for: key(domain, Person.self))
            #expect(try await launch().get(key(domain, Alien.self)).firstName == "John")
        }
    }

    @Test(arguments: Place.allCases)
    func `a value of an older type does not decode and stays unchanged until the program converts and replaces it`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (old, new) = (key(domain, Person1.self), key(domain, Person2.self))
            let router = launch()
            try await router.set(Person1(fullName: "John Snow"), for: old)
            await #expect { try await router.get(new) } throws: { StorageError.undecodable ~= $0 }
            let kept = try await launch().get(old)
            #expect(kept == Person1(fullName: "John Snow"))
            try await router.set(try Self.split(kept), for: new)
            #expect(try await launch().get(new).firstName == "John")
        }
    }

    @Test(arguments: Place.allCases) func `one get converts a value of an older type in the same slot`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = key(domain, Person1.self)
            try await launch().set(Person1(fullName: "John Snow"), for: old)
            let new = key(domain, Person2.self).moved(from: old, Self.split)
            #expect(try await launch().get(new) == Person2(firstName: "John", lastName: "Snow"))
            // The slot contains only the new type: a key without the migration reads it.
            #expect(try await launch().get(key(domain, Person2.self)).lastName == "Snow")
            await #expect { try await launch().get(old) } throws: { StorageError.undecodable ~= $0 }
        }
    }

    @Test(arguments: Place.allCases) func `a chain of versions converts a value in one slot from any version`(place: Place) async throws {
        struct Person3: Codable, Equatable {
            var firstName: String
            var lastName: String
            var initials: String
        }
        let chain = Evolution.from(Person1.self).to(Self.split).to { (document: inout StoredDocument) in
            let names = [document["firstName"], document["lastName"]].compactMap { $0?.string?.first }
            document["initials"] = .string(String(names))
        }
        .decoding(Person3.self)
        for version in [1, 2] {
            for serializer in ["json", "plist"] {
                try await place.withLaunches { launch, domain in
                    if version == 1 {
                        let old = key(domain, Person1.self, serializer: serializer == "json" ? .json : .plist)
                        try await launch().set(Person1(fullName: "John Snow"), for: old)
                    } else {
                        let old = key(domain, Person2.self, serializer: serializer == "json" ? .json : .plist).version(2)
                        try await launch().set(Person2(firstName: "John", lastName: "Snow"), for: old)
                    }
                    let new = key(domain, Person3.self).evolving(chain)
                    #expect(try await launch().get(new) == Person3(firstName: "John", lastName: "Snow", initials: "JS"))
                    let stored = try await launch().storedValue(for: key(domain, Person3.self).version(3))
                    #expect(stored?.schemaVersion == 3)
                }
            }
        }
    }

    @Test(arguments: Place.allCases) func `a conversion step that enumerates records runs once for each record with an older version`(
        place: Place
    ) async throws {
        let seen = Shared(0)
        try await place.withLaunches { launch, domain in
            let old = people(domain, StoredDocument.self)
            var router = launch()
            let documents = (0..<600).map { StoredDocument(["firstName": .string("J\($0)"), "lastName": "Snow"]) }
            try await router.set(documents, in: old)
            let new = people(domain, StoredDocument.self).evolving(
                Evolution.from(version: 1).enumerating { oldVersion, old, new in
                    seen.count(by: oldVersion == 1 ? 1 : 1_000_000)
                    new["fullName"] = .string("\(old["firstName"]?.string ?? "?") \(old["lastName"]?.string ?? "?")")
                    new.remove("firstName")
                    new.remove("lastName")
                })
            router = launch()
            let report = try await router.registerCatalog(TestCatalog([.collection(new)]), migrateImmediately: true)
            try report.requireComplete()
            #expect(report.rows.map(\.records) == [600])
            #expect(seen.number == 600)
            let again = try await launch().registerCatalog(TestCatalog([.collection(new)]), migrateImmediately: true)
            #expect(again.rows.map(\.state) == [.unchanged])
            #expect(seen.number == 600)
            var names: Set<String> = []
            for try await person in launch().records(in: new) {
                #expect(person.names == ["fullName"])
                names.insert(person["fullName"]?.string ?? "")
            }
            #expect(names == Set((0..<600).map { "J\($0) Snow" }))
        }
    }

    private func people<Record>(_ domain: StorageDomain, _ type: Record.Type) -> StorageCollection<Record> where Record: Hashable {
        StorageCollection(
            "people", domain: domain, owner: "Tests", description: "People",
            id: {
                ($0 as? StoredDocument).flatMap { $0["firstName"]?.string ?? $0["fullName"]?.string?.components(separatedBy: " ").first }
                    ?? "?"
            })
    }

    @Test(arguments: Place.allCases)
    func `an expired value is absent for get, is still returned by storedValue, and is purged by a later sweep`(place: Place) async throws {
        let clock = TestClock()
        try await place.withLaunches(clock: clock) { launch, domain in
            let key = key(domain, Person.self)
            let person = Person(firstName: "John", lastName: "Snow")
            let router = launch()
            try await router.set(person, for: key, lifetime: .seconds(6_000))
            clock.advance(by: .seconds(3_000))
            #expect(try await launch().get(key) == person)
            clock.advance(by: .seconds(3_001))
            await #expect { try await launch().get(key) } throws: { StorageError.notFound ~= $0 }
            #expect(try await !router.exists(key))
            let stale = try await router.storedValue(for: key)
            #expect(stale?.value == person)
            #expect(stale?.isExpired == true)
            let report = try await router.registerCatalog(TestCatalog([.key(key)]), migrateImmediately: true)
            #expect(report.rows.map(\.state) == [.expired])
            #expect(try await launch().storedValue(for: key)?.value == person)
            clock.pass(.seconds(86_400))
            #expect(await router.sweep().rows.map(\.state) == [.expired])
            #expect(try await launch().storedValue(for: key) == nil)
        }
    }

    @Test(arguments: Place.allCases) func `a migration keeps the remaining lifetime of a value, in the same slot and in another slot`(
        place: Place
    ) async throws {
        let clock = TestClock()
        try await place.withLaunches(clock: clock) { launch, domain in
            let old = testKey("old", place.olderDomain, of: Person1.self)
            try await launch().set(Person1(fullName: "John Snow"), for: old, lifetime: .seconds(6_000))
            clock.advance(by: .seconds(3_000))
            let moved = testKey("new", domain, of: Person1.self).moved(from: old)
            #expect(try await launch().get(moved).fullName == "John Snow")
            let evolved = testKey("new", domain, of: Person2.self)
                .evolving(Evolution.from(Person1.self).to(Self.split)).expiring(after: .seconds(100_000))
            #expect(try await launch().get(evolved).firstName == "John")
            clock.advance(by: .seconds(3_001))
            #expect(try await launch().value(for: evolved) == nil)
            #expect(try await launch().value(for: moved) == nil)
            // A legacy copy does not replace the expired value.
            try await launch().set(Person1(fullName: "Old Copy"), for: old)
            #expect(try await launch().value(for: moved) == nil)
        }
    }

    @Test(arguments: Place.allCases) func `observers receive the migration of a record as one event`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = people(domain, StoredDocument.self)
            let router = launch()
            try await router.set(StoredDocument(["firstName": "John"]), in: old)
            let new = people(domain, StoredDocument.self).evolving(Evolution.from(version: 1).to { $0["seen"] = true })
            var values = router.values(for: new.key("John")).makeAsyncIterator()
            #expect(try await values.next()??["seen"] == true)
            try await router.set(StoredDocument(["firstName": "John", "seen": false]), in: new)
            try await router.remove(new.key("John"))
            #expect(try await values.next()??["seen"] == false)
            #expect(try await values.next() == .some(nil))
        }
    }

    @Test(arguments: Place.allCases) func `a new router over existing files lists every key`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let router = launch()
            for name in ["a", "b", "c"] {
                try await router.set(name, for: textKey(name, domain))
            }
            #expect(try await launch().names(of: domain) == ["a", "b", "c"])
        }
    }
}
