import BackendContract
import Foundation
import LocalDataModels
import LocalDataQueries
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Attributes that are derived from records: every write keeps them current, and records without them are noticed.
@Suite(.inTurn) struct DerivedAttributeTests {
    #if SQLite
        @Test func `set, update and a batch derive the attributes`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let (router, items) = (launch(), QueryPlace.database.indexed)
                try await router.set(Item(id: "a", tag: "one", size: -7, status: .open), in: items)
                #expect(
                    try await router.attributes("a", items) == ["tag": "one", "size": "-7", "status": "open", "ratio": "0.0"])
                try await router.update("a", in: items) {
                    $0?.tag = "two"
                    $0?.status = nil
                    $0?.due = Date(timeIntervalSinceReferenceDate: 0.25)
                }
                #expect(
                    try await router.attributes("a", items) == ["tag": "two", "size": "-7", "ratio": "0.0", "due": "0.25"])
                try await router.batch { batch in try batch.set(Item(id: "b", tag: "three"), in: items) }
                #expect(try await router.attributes("b", items)?["tag"] == "three")
                #expect(try await router.hasLabels(items))
            }
        }

        @Test func `an attribute that is set by hand stays unless it is derived`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let (router, items) = (launch(), QueryPlace.database.indexed)
                try await router.set(Item(id: "a", tag: "one"), in: items, attributes: ["tag": "by hand", "note": "kept"])
                let attributes = try await router.attributes("a", items)
                #expect(attributes?["tag"] == "one" && attributes?["note"] == "kept")
            }
        }

        @Test func `records that were stored before the declaration are found, and get labels from a sweep`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let (items, plain) = (QueryPlace.database.indexed, QueryPlace.database.plain)
                for number in 0..<7 { try await launch().set(Item(id: "i\(number)", tag: number % 2 == 0 ? "even" : "odd"), in: plain) }
                let router = launch()
                let before = try await router.storedValue(for: items.key("i0"))?.modifiedAt
                #expect(try await !router.hasLabels(items))
                #expect(try await router.count(in: items, where: \.tag == "even") == 4)
                #expect(try await router.row(of: items)?.state == .converted)
                #expect(try await router.hasLabels(items))
                #expect(try await router.count(in: items, where: \.tag == "even") == 4)
                #expect(try await router.storedValue(for: items.key("i0"))?.modifiedAt == before)
                #expect(try await router.row(of: items)?.state == .unchanged)
            }
        }

        @Test func `an update by a release that derives nothing is noticed, and repaired by a sweep`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let (items, plain) = (QueryPlace.database.indexed, QueryPlace.database.plain)
                let router = launch()
                for number in 0..<4 { try await router.set(Item(id: "i\(number)", tag: "old"), in: items) }
                try await launch().update("i2", in: plain) { $0?.tag = "new" }
                #expect(try await router.attributes("i2", items)?["tag"] != "new", "the older release keeps the attribute or drops it")
                #expect(try await !router.hasLabels(items))
                #expect(try await router.records(in: items, where: \.tag == "new").map(\.id) == ["i2"])
                #expect(try await router.count(in: items, where: \.tag == "old") == 3)
                _ = try await router.row(of: items)
                #expect(try await router.hasLabels(items))
                #expect(try await router.records(in: items, where: \.tag == "new").map(\.id) == ["i2"])
            }
        }

        @Test func `a record whose attributes an earlier release of the library kept in an update is found by its content`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let (router, items) = (launch(), QueryPlace.database.indexed)
                for number in 0..<4 { try await router.set(Item(id: "i\(number)", tag: "old"), in: items) }
                // Such a release keeps all attributes, and stores the version of the record without the mark.
                let (_, backend) = try router.slots.routes.backend(for: items.domain, key: "items")
                let address = StorageAddress("i2", in: items.namespace)
                let record = try #require(try await backend.read([address], .fresh).first?.record)
                var metadata = record.metadata
                metadata.attributes["LocalData.version"] = "1"
                let bytes = Array(try JSONEncoder().encode(Item(id: "i2", tag: "new")))
                let results = try await backend.apply([
                    .put(.bytes(bytes), metadata, at: address, if: .revision(record.revision))
                ])
                #expect(results.allSatisfy { if case .applied = $0 { true } else { false } })
                #expect(try await router.attributes("i2", items)?["tag"] == "old")
                #expect(try await !router.hasLabels(items))
                #expect(try await router.records(in: items, where: \.tag == "new").map(\.id) == ["i2"])
                #expect(try await router.count(in: items, where: \.tag == "old") == 3)
                _ = try await router.row(of: items)
                #expect(try await router.hasLabels(items))
                #expect(try await router.count(in: items, where: \.tag == "new") == 1)
            }
        }

        @Test func `a model declares the attributes of its collections`() async throws {
            struct Letter: StorageModel, Identifiable {
                var id: String
                var tag: String
                var pages: [Int] = []
                static var attributes: [AttributeDescription] {
                    [
                        AttributeDescription("id", .string), AttributeDescription("tag", .string).indexed(\Letter.tag),
                        AttributeDescription("pages", .array(.integer)).indexed(\Letter.pages),
                    ]
                }
            }
            try await QueryPlace.database.withLaunches { launch in
                let router = launch()
                let letters = StorageCollection<Letter>("letters", domain: QueryPlace.database.domain, typeTag: "Letter")
                try await router.set([Letter(id: "a", tag: "one", pages: [1]), Letter(id: "b", tag: "two")], in: letters)
                #expect(try await router.storedValue(for: letters.key("a"))?.attributes == ["tag": "one"])
                #expect(try await router.matching("test", in: letters) { try await $0.counts(of: []) != nil })
                #expect(try await router.count(in: letters, where: \.tag == "one") == 1)
                #expect(try await router.records(in: letters, where: \.pages == [1]).map(\.id) == ["a"])
                #expect(
                    Letter.attributes == [
                        AttributeDescription("id", .string), AttributeDescription("tag", .string),
                        AttributeDescription("pages", .array(.integer)),
                    ])
            }
        }

        @Test func `a query does not use the labels of another declaration`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let first = QueryPlace.database.plain.attribute("tag", \.tag)
                let second = first.attribute("size", \.size)
                try await launch().set(Item(id: "a", tag: "one", size: 3), in: first)
                #expect(try await launch().hasLabels(first))
                #expect(try await !launch().hasLabels(second))
                #expect(try await launch().count(in: second, where: \.size == 3) == 1)
                _ = try await launch().row(of: second)
                #expect(try await launch().hasLabels(second))
                #expect(try await !launch().hasLabels(first))
                // The next write removes the attribute that the present declarations do not derive.
                try await launch().update("a", in: first) { $0?.tag = "two" }
                #expect(try await launch().attributes("a", first) == ["tag": "two"])
            }
        }

        @Test func `records of an earlier version are converted, and get attributes of the present one`() async throws {
            struct Old: Codable, Sendable {
                var id: String
                var name: String
            }
            try await QueryPlace.database.withLaunches { launch in
                let domain = QueryPlace.database.domain
                let old = StorageCollection<Old>("items", domain: domain, typeTag: "Item") { $0.id }.attribute("tag", \.name)
                for number in 0..<4 { try await launch().set(Old(id: "i\(number)", name: "n\(number % 2)"), in: old) }
                let items = Item.indexed(domain).evolving(
                    Evolution.from(Old.self).to { Item(id: $0.id, tag: "tag \($0.name)") })
                let router = launch()
                #expect(try await router.count(in: items, where: \.tag == "tag n1") == 2)
                #expect(try await router.row(of: items)?.state == .converted)
                #expect(try await router.hasLabels(items))
                #expect(try await router.records(in: items, where: \.tag == "tag n1").map(\.id).sorted() == ["i1", "i3"])
                #expect(try await router.row(of: items)?.state == .unchanged)
            }
        }

        @Test func `a record that an earlier release writes while a sweep adds attributes is converted with a backup`() async throws {
            struct Old: Codable, Identifiable {
                var id: String
                var name: String
            }
            let (machine, domain) = (TestMachine(), QueryPlace.database.domain)
            let old = StorageCollection<Old>("items", domain: domain, owner: "Tests", description: "Items", typeTag: "Item")
            let evolution = Evolution.from(Old.self).to { Item(id: $0.id, tag: $0.name) }.keepingBackup()
            let (plain, items) = (Item.plain(domain).evolving(evolution), Item.indexed(domain).evolving(evolution))
            try await machine.launch().set(Item(id: "a", tag: "new"), in: plain)
            let router = machine.launch()
            _ = try await router.count(in: items)
            let gate = FaultGate()
            try #require(machine.backends(of: domain).last).inject(.hold(gate), of: .apply)
            let sweep = Task { try await router.row(of: items) }
            await gate.untilArrivals()
            let older = machine.launch()
            try await older.remove("a", in: old)
            try await older.set(Old(id: "a", name: "older"), in: old)
            gate.open()
            #expect(try await sweep.value?.state == .converted)
            #expect(try await router.value("a", in: items) == Item(id: "a", tag: "older"))
            #expect(try await router.restoreBackup(for: items.key("a")) == 1)
            #expect(try await older.value("a", in: old)?.name == "older")
        }

        @Test func `records that move from another collection get attributes`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                let old = StorageCollection<Item>("old", domain: .userDefaults(suite: "old"), typeTag: "Item")
                for number in 0..<4 { try await launch().set(Item(id: "i\(number)", tag: "t\(number % 2)"), in: old) }
                let items = QueryPlace.database.indexed.moved(from: old)
                #expect(try await launch().count(in: items, where: \.tag == "t0") == 2)
                #expect(try await launch().hasLabels(items))
                try await launch().clear(items)
                #expect(try await launch().records(in: items, where: .all).isEmpty)
            }
        }

        @Test func `a count reports a record in a legacy location that cannot be read`() async throws {
            struct Broken: Codable, Sendable { var broken = 1 }
            try await QueryPlace.database.withLaunches { launch in
                let domain = StorageDomain.userDefaults(suite: "old")
                let old = StorageCollection<Item>("old", domain: domain, typeTag: "Item")
                let broken = StorageCollection<Broken>("old", domain: domain, typeTag: "Item") { _ in "i1" }
                try await launch().set(Item(id: "i0", tag: "one"), in: old)
                try await launch().set(Broken(), in: broken)
                let items = QueryPlace.database.indexed.moved(from: old)
                let router = launch()
                #expect(try await router.count(in: items, where: \.tag == "one", onDamage: .skip) == 1)
                #expect(try await router.hasLabels(items))
                await #expect(throws: StorageError.self) { try await router.records(in: items, where: \.tag == "one") }
                await #expect(throws: StorageError.self) { try await router.count(in: items, where: \.tag == "one") }
            }
        }

        @Test func `two spellings of a letter that a new version of Unicode has added are equal for a label, too`() async throws {
            // Foundation may not know the letters of Unicode 16 that the standard library knows.
            let (composed, decomposed) = ("\u{105C9}", "\u{105D2}\u{307}")
            try await QueryPlace.database.withLaunches { launch in
                let (router, items) = (launch(), QueryPlace.database.indexed)
                try await router.set([Item(id: "a", tag: composed), Item(id: "b", tag: decomposed), Item(id: "c", tag: "x")], in: items)
                #expect(try await router.hasLabels(items))
                let all = try await router.records(in: items, where: .all)
                for text in [composed, decomposed] {
                    let expected = all.filter { $0.tag == text }.map(\.id).sorted()
                    #expect(try await router.records(in: items, where: \.tag == text).map(\.id).sorted() == expected)
                    #expect(try await router.count(in: items, where: \.tag == text) == expected.count)
                }
            }
        }

        @Test func `a property has the value that a read returns, also if encoding changes it`() async throws {
            struct Loud: Codable, Identifiable, Sendable {
                var id: String
                var tag: String
                var isSelected = false
                private enum CodingKeys: CodingKey { case id, tag }

                func encode(to encoder: any Encoder) throws {
                    var container = encoder.container(keyedBy: CodingKeys.self)
                    try container.encode(id, forKey: .id)
                    try container.encode(tag.uppercased(), forKey: .tag)
                }
            }
            try await QueryPlace.database.withLaunches { launch in
                let loud = StorageCollection<Loud>("loud", domain: QueryPlace.database.domain, typeTag: "Loud")
                    .attribute("tag", \.tag).attribute("isSelected", \.isSelected)
                var record = Loud(id: "a", tag: "work")
                record.isSelected = true
                try await launch().set(record, in: loud)
                #expect(try await launch().count(in: loud, where: \.tag == "WORK") == 1)
                #expect(try await launch().count(in: loud, where: \.tag == "work") == 0)
                #expect(try await launch().count(in: loud, where: \.isSelected == false) == 1)
                #expect(try await launch().count(in: loud, where: \.isSelected == true) == 0)
            }
        }

        @Test func `the count of expiring records does not include expired ones`() async throws {
            let clock = TestClock()
            let stage = try Stage()
            let router = stage.launch {
                $0.keySource = .keyFile("sealing.key")
                $0.use(clock)
            }
            let items = QueryPlace.database.indexed
            try await router.set(Item(id: "a", tag: "one"), in: items, lifetime: .seconds(60))
            try await router.set(Item(id: "b", tag: "one"), in: items)
            #expect(try await router.count(in: items, where: \.tag == "one") == 2)
            clock.advance(by: .seconds(61))
            #expect(try await router.hasLabels(items))
            #expect(try await router.count(in: items, where: \.tag == "one") == 1)
            #expect(try await router.records(in: items, where: \.tag == "one").map(\.id) == ["b"])
            try await router.clear(items)
            #expect(try await router.storedValue(for: items.key("a")) == nil)
            try await router.shutdown()
        }
    #endif

    @Test func `a reserved name of an attribute is refused`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        for name in ["LocalData.version", "syncStatus"] {
            let items = Item.plain(.memory("main")).attribute(name, \.tag)
            await expectRefusal(StorageError.unsupported, of: "a", saying: name) {
                try await router.set(Item(id: "a", tag: "one"), in: items)
            }
        }
    }

    @Test func `after a sweep has added attributes in a release window, a change by the earlier release still counts`() async throws {
        let machine = TestMachine()
        let old = StorageCollection<Item>("old", domain: .userDefaults(suite: "old"), typeTag: "Item")
        let domain = StorageDomain.userDefaults(suite: "new")
        let plain = Item.plain(domain).moved(from: old, keeping: .untilReleased)
        let indexed = Item.indexed(domain).moved(from: old, keeping: .untilReleased)
        let older = machine.launch()
        try await machine.launch().set(Item(id: "a", tag: "one"), in: plain)
        #expect(try await older.value("a", in: old)?.tag == "one")
        let router = machine.launch()
        #expect(try await router.row(of: indexed)?.state != .failed)
        #expect(try await router.attributes("a", indexed)?["tag"] == "one")
        try await older.set(Item(id: "a", tag: "two"), in: old)
        #expect(try await router.value("a", in: indexed)?.tag == "two")
        #expect(try await router.attributes("a", indexed)?["tag"] == "two")
    }

    @Test func `after a sweep has converted a record in a release window, a change by the earlier release still counts`() async throws {
        let machine = TestMachine()
        let old = StorageCollection<Item>("old", domain: .userDefaults(suite: "old"), typeTag: "Item")
        let first = Item.plain(.userDefaults(suite: "new"))
        let second = first.evolving(Evolution.from(version: 1).to(version: 2) { _ in })
        let older = machine.launch()
        try await machine.launch().set(Item(id: "a", tag: "one"), in: first.moved(from: old, keeping: .untilReleased))
        #expect(try await older.value("a", in: old)?.tag == "one")
        let router = machine.launch()
        let kept = second.moved(from: old, keeping: .untilReleased)
        #expect(try await router.row(of: kept)?.state != .failed)
        #expect(try await router.storedValue("a", in: kept)?.schemaVersion == 2)
        try await older.set(Item(id: "a", tag: "two"), in: old)
        #expect(try await router.value("a", in: kept)?.tag == "two")
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `a weaker mirror in a release window gets no derived attribute, unless the earlier release has set it`() async throws {
        let machine = TestMachine()
        let old = StorageCollection<Item>("old", domain: .userDefaults(suite: "old"), typeTag: "Item")
        let items = Item.indexed(.keychain(service: "s"))
            .moved(from: old, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))
        let (older, router) = (machine.launch(), machine.launch())
        try await router.set(Item(id: "a", tag: "secret"), in: items)
        #expect(try await router.attributes("a", items)?["tag"] == "secret")
        #expect(try await older.value("a", in: old)?.tag == "secret")
        #expect(try await older.attributes("a", old)?.isEmpty == true)
        try await older.set(Item(id: "b", tag: "one"), in: old, attributes: ["tag": "one"])
        try await router.update("b", in: items) { $0?.tag = "two" }
        #expect(try await older.attributes("b", old) == ["tag": "two"])
    }

    @Test func `a property list of encrypted records contains no derived attribute`() async throws {
        let place = QueryPlace.encryptedList
        try await place.withLaunches { launch in
            try await launch().set(Item(id: "a", tag: "very secret"), in: place.indexed)
            #expect(try await launch().attributes("a", place.indexed)?.isEmpty == true)
            #expect(try await launch().count(in: place.indexed, where: \.tag == "very secret") == 1)
            #expect(try await launch().row(of: place.indexed)?.state == .unchanged)
        }
    }

    #if SQLite
        @Test func `records that move into an encrypted property list leave their derived attributes behind`() async throws {
            try await QueryPlace.database.withLaunches { launch in
                try await launch().set(Item(id: "a", tag: "very secret"), in: QueryPlace.database.indexed)
                let items = QueryPlace.encryptedList.plain.moved(
                    from: QueryPlace.database.indexed, options: MigrationOptions(allowsWeakerProtection: true))
                #expect(try await launch().value("a", in: items)?.tag == "very secret")
                #expect(try await launch().attributes("a", items)?.isEmpty == true)
            }
        }
    #endif
}
