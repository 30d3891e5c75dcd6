import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// The scenarios of programs that move here from SwiftData or ManagedModels, with models that are declared without
/// macros.
///
/// They run in every kind of store and are numbered MM1 to MM8 and CR1. `CrushScenarioTests` tests the staged plan of
/// MM7.
@Suite(.inTurn, .tags(.scenario)) struct ManagedModelsScenarioTests {
    // MARK: MM1

    struct Person: Codable, Hashable {
        struct Address: Codable, Hashable {
            var street: String?
            var city: String?
        }
        var privateAddress: Address
        var businessAddress: Address
    }

    @Test("a struct of structs is stored whole, and an absent optional property stays absent", arguments: Place.allCases)
    func compound(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let person = Person(
                privateAddress: .init(street: nil, city: "Graz"), businessAddress: .init(street: "Ring 1", city: "Wien"))
            try await launch().set(person, for: key("person", domain))
            let second = launch()
            #expect(try await second.get(key("person", domain)) == person)
            let document = try await second.get(key("person", domain, StoredDocument.self))
            #expect(document.names == ["businessAddress", "privateAddress"])
            #expect(document["privateAddress"] == ["city": "Graz"])
            #expect(document["businessAddress.street"] == "Ring 1")
        }
    }

    // MARK: MM2

    enum Color: String, Codable { case red, green, blue }
    enum Priority: Int, Codable { case high = 5, medium = 3, low = 1 }

    @Test("an enumeration is stored as its raw value, and an unknown raw value is an error", arguments: Place.allCases)
    func rawValues(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let first = launch()
            try await first.set(Color.red, for: key("color", domain))
            try await first.set(Priority.high, for: key("priority", domain))
            let second = launch()
            #expect(try await second.get(key("color", domain)) == Color.red)
            #expect(try await second.get(key("priority", domain)) == Priority.high)
            #expect(try await second.get(key("color", domain)) == "red")
            #expect(try await second.get(key("priority", domain)) == 5)

            try await second.set(4, for: key("priority", domain))
            let before = try await second.storedValue(for: key("priority", domain, Int.self))
            await expectRefusal(StorageError.undecodable, of: "priority") {
                _ = try await second.get(key("priority", domain, Priority.self))
            }
            let third = launch()
            await expectRefusal(StorageError.undecodable, of: "priority") {
                _ = try await third.update(key("priority", domain, Priority.self)) { $0 = .low }
            }
            let after = try await third.storedValue(for: key("priority", domain, Int.self))
            #expect(after?.value == 4)
            #expect(after?.modifiedAt == before?.modifiedAt)
        }
    }

    @Test("a property list stores raw values as native texts and numbers")
    func nativeRawValues() async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.set(Color.red, for: key("color", .userDefaults))
        try await router.set(Priority.high, for: key("priority", .userDefaults))
        let list = try stage.propertyList()
        #expect(list["color"] as? String == "red")
        #expect(list["priority"] as? Int == 5)
    }

    // MARK: MM3

    /// A type that is `RawRepresentable` and `Codable`. Its raw value is stored, not an object with its properties.
    struct Level: RawRepresentable, Codable, Hashable {
        var rawValue: Int
        var doubled: Int { rawValue * 2 }
    }

    struct Settings: Codable, Hashable {
        var address: Person.Address?
        var level: Level
        var color: Color?
    }

    @Test("an optional nil is stored and read as nil, as a property and as a whole value", arguments: Place.allCases)
    func optionals(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let settings = Settings(address: nil, level: Level(rawValue: 2), color: nil)
            let first = launch()
            try await first.set(settings, for: key("settings", domain))
            try await first.set(nil, for: key("address", domain, Person.Address?.self))
            let second = launch()
            #expect(try await second.get(key("settings", domain)) == settings)
            #expect(try await second.get(key("address", domain, Person.Address?.self)) == nil)
            #expect(try await second.exists(key("address", domain, Person.Address?.self)))
        }
    }

    @Test("a type that is RawRepresentable and Codable is stored as its raw value", arguments: Place.allCases)
    func rawAndCodable(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let first = launch()
            try await first.set(Level(rawValue: 7), for: key("level", domain))
            try await first.set(Settings(level: Level(rawValue: 7)), for: key("settings", domain))
            let second = launch()
            #expect(try await second.get(key("level", domain)) == Level(rawValue: 7))
            #expect(try await second.get(key("level", domain)) == 7)
            #expect(try await second.get(key("settings", domain, StoredDocument.self)) == StoredDocument(["level": 7]))
        }
    }

    // MARK: MM4

    struct OldNote: Codable {
        var title: String
        var colour: String
    }

    struct Note: StorageModel, Hashable {
        var title: String
        var color: String
        static let attributes = [
            AttributeDescription("title", .string), AttributeDescription("color", .string, originalName: "colour"),
        ]
    }

    @Test("a renamed key finds the old value and moves it", arguments: Place.allCases)
    func renamedKey(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set("abc", for: key("oldName", domain))
            let renamed = key("newName", domain, String.self).moved(from: key("oldName", domain))
            let second = launch()
            #expect(try await second.get(renamed) == "abc")
            #expect(try await second.names(of: domain) == ["newName"])
            // After the move, a key without the legacy location finds the value.
            #expect(try await launch().get(key("newName", domain)) == "abc")
        }
    }

    @Test("a renamed property finds the old value and is stored under its new name", arguments: Place.allCases)
    func renamedProperty(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(OldNote(title: "a", colour: "red"), for: key("note", domain))
            let second = launch()
            #expect(try await second.get(key("note", domain)) == Note(title: "a", color: "red"))
            let stored = try await launch().get(key("note", domain, StoredDocument.self))
            #expect(stored == StoredDocument(["title": "a", "color": "red"]))
            #expect(try await launch().get(key("note", domain)) == Note(title: "a", color: "red"))
        }
    }

    // MARK: MM5

    @Test("a default is returned and never written, and a value at a legacy location takes precedence", arguments: Place.allCases)
    func defaults(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let width = StorageKey(name: "width", domain: domain, owner: "Tests", description: "A width", defaultValue: 800)
            let first = launch()
            #expect(try await first.get(width) == 800)
            #expect(try await first.value(for: width) == nil)
            #expect(try await !first.exists(width))
            #expect(try await first.names(of: domain).isEmpty)

            try await first.set(640, for: key("oldWidth", place.olderDomain))
            let moved = width.moved(from: key("oldWidth", place.olderDomain))
            let second = launch()
            #expect(try await second.get(moved) == 640)
            #expect(try await second.exists(width))
        }
    }

    // MARK: MM6

    struct Session: Codable, Hashable {
        var token: String
        var isSelected = false
        private enum CodingKeys: CodingKey { case token }
    }

    @Test("a transient property is never stored", arguments: Place.allCases)
    func transientProperty(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(Session(token: "abc", isSelected: true), for: key("session", domain))
            let second = launch()
            #expect(try await second.get(key("session", domain, StoredDocument.self)) == StoredDocument(["token": "abc"]))
            #expect(try await second.get(key("session", domain)) == Session(token: "abc", isSelected: false))
        }
    }

    @Test("a value in memory is lost with its router", arguments: Place.allCases)
    func transientKey(place: Place) async throws {
        try await place.withLaunches { launch, _ in
            let first = launch()
            try await first.set("abc", for: key("draft", .memory()))
            #expect(try await first.get(key("draft", .memory())) == "abc")
            #expect(try await launch().value(for: key("draft", .memory(), String.self)) == nil)
        }
    }

    // MARK: MM8

    /// A model with two initializers, none of which works without arguments.
    final class Contact: StorageModel {
        let name: String
        let age: Int
        init(named name: String, age: Int = 50) {
            self.name = name
            self.age = age
        }
        convenience init(first: String, last: String) { self.init(named: "\(first) \(last)") }
        static let attributes = [AttributeDescription("name", .string), AttributeDescription("age", .integer)]
    }

    @Test("a model may have any initializers, and reading uses none of them", arguments: Place.allCases)
    func initialisers(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(Contact(first: "Sam", last: "Snow"), for: key("contact", domain))
            let contact = try await launch().get(key("contact", domain, Contact.self))
            #expect(contact.name == "Sam Snow")
            #expect(contact.age == 50)
        }
    }

    // MARK: CR1

    struct Early: Codable { var title: String }

    struct Later: StorageModel, Hashable {
        var title: String
        var stars: Int
        var comment: String?
        static let attributes = [
            AttributeDescription("title", .string), AttributeDescription("stars", .integer, default: 0),
            AttributeDescription("comment", .string, isOptional: true),
        ]
    }

    struct Demanding: StorageModel {
        var title: String
        var stars: Int
        static let attributes = [AttributeDescription("title", .string), AttributeDescription("stars", .integer)]
    }

    @Test("an older value without a new optional or defaulted property can be read", arguments: Place.allCases)
    func lightweight(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await launch().set(Early(title: "a"), for: key("note", domain))
            let second = launch()
            #expect(try await second.get(key("note", domain)) == Later(title: "a", stars: 0, comment: nil))
            try await second.update(key("note", domain, Later.self)) { $0?.stars += 1 }
            #expect(try await launch().get(key("note", domain)) == Later(title: "a", stars: 1, comment: nil))
        }
    }

    @Test("an older value without a new required property is an error, and its bytes stay", arguments: Place.allCases)
    func required(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let first = launch()
            try await first.set(Early(title: "a"), for: key("note", domain))
            let bytes = StorageKey<Data>(name: "note", domain: domain, serializer: .data, owner: "Tests", description: "Its bytes")
            let before = try await first.storedValue(for: bytes)
            #expect(before?.value == Data(#"{"title":"a"}"#.utf8))
            let second = launch()
            await expectRefusal(StorageError.undecodable, of: "note") { _ = try await second.get(key("note", domain, Demanding.self)) }
            let after = try await launch().storedValue(for: bytes)
            #expect(after?.value == before?.value)
            #expect(after?.modifiedAt == before?.modifiedAt)
        }
    }

    private func key<Value>(_ name: String, _ domain: StorageDomain, _ type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }
}
