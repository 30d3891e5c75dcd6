#if Macros
    import Foundation
    public import LocalDataModels
    import TestSupport
    import Testing

    enum Color: String, Codable { case red, green }

    @StorageModel struct Part: Hashable {
        var name: String
        var parts: [Part] = []
    }

    /// A public model: its generated members must be public, too, so that other modules can use it.
    @StorageModel public struct Note: Hashable {
        @Attribute(originalName: "heading") var title: String
        @Attribute(name: "star_count") var stars: Int = 0
        var color: Color?
        var due: Date?
        var parts: [Part]
        var counts: [String: Int] = [:]
        @Transient var isSelected = false
        var shout: String { title.uppercased() }
    }

    /// The value that an earlier version of the program stored.
    struct OldNote: Codable {
        var heading: String
        var parts: [Part]
    }

    @StorageModel final class Contact: Codable, Sendable {
        let name: String
        let age: Int
        init(named name: String, age: Int = 50) {
            self.name = name
            self.age = age
        }
    }

    @StorageModel struct Letter: Identifiable {
        var id: String
        @Attribute(name: "label", indexed: true) var tag: String
        @Attribute(indexed: true) var color: Color?
    }

    /// Models that are declared with the macros, stored and read in every kind of store.
    @Suite(.inTurn) struct ModelTests {
        enum Place: CaseIterable { case database, propertyList, memory }

        private func withLaunches(_ place: Place, _ body: (_ launch: () -> StorageRouter, StorageDomain) async throws -> Void) async throws
        {
            let directory = try TemporaryDirectory()
            var configuration = StorageConfiguration(root: URL(filePath: directory.file("root")), applicationID: "models")
            if place == .memory { configuration = .inMemory() }
            configuration.deadlines.files = .seconds(120)
            let made = configuration
            var routers: [StorageRouter] = []
            try await body(
                {
                    routers.append(StorageRouter(configuration: made))
                    return routers[routers.count - 1]
                }, place == .database ? .encryptedSQLite(database: "main") : .userDefaults(suite: "main"))
            for router in routers { try await router.shutdown() }
        }

        private func key<Value>(_ domain: StorageDomain, _ type: Value.Type = Value.self) -> StorageKey<Value> {
            StorageKey(name: "note", domain: domain, owner: "Tests", description: "A note")
        }

        @Test(arguments: Place.allCases) func `an indexed property is an attribute of each record`(_ place: Place) async throws {
            try await withLaunches(place) { launch, domain in
                let letters = StorageCollection<Letter>("letters", domain: domain, typeTag: "Letter")
                try await launch().set(Letter(id: "a", tag: "one", color: .red), in: letters)
                try await launch().update("a", in: letters) { $0?.tag = "two" }
                #expect(try await launch().storedValue(for: letters.key("a"))?.attributes == ["label": "two", "color": "red"])
            }
        }

        @Test(arguments: Place.allCases) func `a model is stored without its transient properties`(place: Place) async throws {
            try await withLaunches(place) { launch, domain in
                var note = Note(
                    title: "a", stars: 3, color: .red, due: Date(timeIntervalSinceReferenceDate: 5), parts: [Part(name: "p", parts: [])])
                note.isSelected = true
                try await launch().set(note, for: key(domain))
                let read = try await launch().get(key(domain, Note.self))
                note.isSelected = false
                #expect(read == note)
                let stored = try await launch().get(key(domain, StoredDocument.self))
                #expect(stored.names == ["color", "counts", "due", "parts", "star_count", "title"])
            }
        }

        @Test(arguments: Place.allCases)
        func `an older value is read with the defaults of new properties and the value of a renamed property`(place: Place) async throws {
            try await withLaunches(place) { launch, domain in
                try await launch().set(OldNote(heading: "a", parts: []), for: key(domain))
                let read = try await launch().get(key(domain, Note.self))
                #expect(read == Note(title: "a", parts: []))
                let stored = try await launch().get(key(domain, StoredDocument.self))
                #expect(stored["title"] == "a")
                #expect(stored["heading"] == nil)
            }
        }

        @Test(arguments: Place.allCases) func `a class can be stored and read, whatever initializers it has`(place: Place) async throws {
            try await withLaunches(place) { launch, domain in
                try await launch().set(Contact(named: "Sam"), for: key(domain))
                let read = try await launch().get(key(domain, Contact.self))
                #expect(read.name == "Sam")
                #expect(read.age == 50)
            }
        }

        @Test func `the attributes that the macro generates equal handwritten ones`() {
            #expect(
                Note.attributes == [
                    AttributeDescription("title", .string, originalName: "heading"),
                    AttributeDescription("star_count", .integer, default: 0),
                    AttributeDescription("color", .string, isOptional: true), AttributeDescription("due", .date, isOptional: true),
                    AttributeDescription("parts", .array(.of(Part.self))),
                    AttributeDescription("counts", .dictionary(.integer), default: [:]),
                ])
            #expect(Part.attributes.map(\.name) == ["name", "parts"])
            #expect(Contact.attributes == [AttributeDescription("name", .string), AttributeDescription("age", .integer)])
        }
    }
#endif
