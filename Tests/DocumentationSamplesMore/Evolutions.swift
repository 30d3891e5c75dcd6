import Foundation
import LocalData

/// Samples of chains of versions. They are compiled, and not run.
enum EvolutionSamples {
    struct PersonV1: Codable, Sendable { var fullName: String }
    struct PersonV2: Codable, Sendable {
        var first: String
        var last: String
    }
    struct Person: Codable, Sendable {
        var first: String
        var last: String
        var nickname: String
    }

    static func entry(_ storage: StorageRouter) async throws {
        let person: StorageKey<Person> = settings.key("person", "The person who signs reports")
            .evolving(
                Evolution.from(version: 1)
                    .to { $0.rename("name", to: "first") }  // version 2
                    .to { $0.add("nickname", default: "") })  // version 3
        do { print(try await storage.get(person).nickname) } catch StorageError.incompatibleSchema {
            print("A later version of the program stored this value. It was not changed.")
        }
    }

    static func typed() -> TypedEvolution<Person> {
        let chain = Evolution.from(PersonV1.self)  // version 1, and values without a version
            .to { old in PersonV2(first: old.fullName, last: "") }  // version 2
            .to { old in Person(first: old.first, last: old.last, nickname: old.first) }  // version 3
        return chain
    }

    static func steps() -> DocumentEvolution {
        let steps = [
            EvolutionStep(from: 1, to: 2) { document, _ in document.rename("name", to: "title") },
            EvolutionStep(from: 2, to: 3) { document, _ in try document.convert("stars", to: .integer) },
        ]
        let chain = Evolution.steps(steps, to: 3)  // a gap is reported as invalidEvolution when the key is first used
        return chain
    }

    static func step() -> EvolutionStep {
        let step = EvolutionStep(from: 1, to: 2) { document, context in
            document.rename("name", to: "title")
            print("\(context.entity)/\(context.record): \(context.storedVersion) -> \(context.targetVersion)")
        }
        return step
    }

    static func documents() -> StorageCollection<Note> {
        let chain = Evolution.from(version: 1)
            .to { $0.rename("name", to: "title") }
            .to { document in
                try document.convert("stars", to: .integer)  // if it throws, `get` throws migrationFailed and the record stays
            }
        print(chain.version)  // 3
        let notes: StorageCollection<Note> = settings.collection("notes", "The user's notes").evolving(chain)
        return notes
    }

    static func documentStep() -> DocumentEvolution {
        let chain = Evolution.from(version: 1)
            .to { $0["place.city"] = nil }
            .to(version: 5) { $0.add("stars", default: 0) }  // from version 2 directly to version 5
        return chain
    }

    static func contextStep() -> DocumentEvolution {
        let chain = Evolution.from(version: 1)
            .to { document, context in document["token"] = .string(context.identity.uuidString) }
        return chain
    }

    static func enumerating() -> DocumentEvolution {
        let chain = Evolution.from(version: 1).enumerating(to: 3) { storedVersion, old, new in
            new["title"] = storedVersion == 1 ? old["name"] : old["label"]
            new["name"] = nil
            new["label"] = nil
        }
        return chain
    }

    static func decoding() -> TypedEvolution<Person> {
        let chain = Evolution.from(version: 1)
            .to { $0.rename("name", to: "first") }
            .decoding(PersonV2.self)  // version 2 has a Swift type
            .to { old in Person(first: old.first, last: old.last, nickname: "") }
        return chain
    }

    static func shortcut() -> DocumentEvolution {
        let chain = Evolution.from(version: 1)
            .to { $0.rename("name", to: "label") }
            .to { $0.rename("label", to: "title") }
            .shortcut(from: 1, to: 3) { $0.rename("name", to: "title") }
        return chain
    }

    static func backup(_ storage: StorageRouter) async throws {
        let note: StorageKey<Note> = settings.key("note", "The note on the desk")
            .evolving(Evolution.from(version: 1).to { $0.rename("name", to: "title") }.keepingBackup())
        // To withdraw a faulty release, restore the bytes of the earlier version.
        let version = try await storage.restoreBackup(for: note)  // 1; nil if there is no backup
        print(version ?? 0)
    }

    static func typedEvolution() -> StorageKey<Person> {
        let person: StorageKey<Person> = settings.key("person", "The person who signs reports")
            .evolving(
                Evolution.from(PersonV1.self).to { old in
                    guard let first = old.fullName.split(separator: " ").first else { throw NotANumber() }  // the value stays
                    return Person(first: String(first), last: "", nickname: String(first))
                })
        return person
    }

    static func typedContext() -> TypedEvolution<PersonV2> {
        let chain = Evolution.from(PersonV1.self)
            .to { old, context in PersonV2(first: old.fullName, last: context.record) }
        return chain
    }

    static func typedDocument() -> DocumentEvolution {
        let chain = Evolution.from(PersonV2.self)
            .to { $0["nickname"] = $0["first"] }  // version 2, without a Swift type
        return chain
    }

    static func typedShortcut() -> TypedEvolution<Person> {
        let chain = Evolution.from(PersonV1.self)
            .to { old in PersonV2(first: old.fullName, last: "") }
            .to { old in Person(first: old.first, last: old.last, nickname: "") }
            .shortcut(from: 1, to: 3) { document in
                document.rename("fullName", to: "first")
                document.add("last", default: "")
                document.add("nickname", default: "")
            }
        return chain
    }

    static func context() -> DocumentEvolution {
        let chain = Evolution.from(version: 1).to { document, context in
            // A step may run again on the same record. A random identifier would differ in each run.
            document["id"] = .string(context.identity.uuidString)
            document["importedFrom"] = .string("\(context.entity), version \(context.storedVersion)")
        }
        return chain
    }
}

/// Samples of documents. They are compiled, and not run.
enum DocumentSamples {
    struct Address: Codable, Hashable {
        var street: String
        var city: String
    }

    static func document() throws {
        var document = try StoredDocument(json: Data(#"{"name": "Milk", "year": 2024}"#.utf8))
        document.rename("name", to: "title")
        document["address.city"] = "Graz"
        let year = document["year"]?.integer
        print(year ?? 0)
    }

    static func encoding(_ address: Address) throws -> StoredDocument {
        let document = try StoredDocument(encoding: address)
        print(document.names)  // ["city", "street"]
        return document
    }

    static func json(_ text: String) throws {
        do { print(try StoredDocument(json: Data(text.utf8)).names) } catch is DecodingError { print("This is not JSON.") }
    }

    static func written(_ document: StoredDocument) throws {
        print(String(decoding: try document.json(), as: UTF8.self))  // {"city":"Graz","street":"Sporgasse"}
        do { print(try document.decode(Address.self).city) } catch is DecodingError { print("A property is missing.") }
        let address = try document.decode(Address.self, at: "people[0].address")
        let none = try document.decode(Address?.self, at: "people[9].address")  // a missing part is null
        print(address, none ?? address)
    }

    static func changing(_ document: StoredDocument) throws {
        var document = document
        document["address.city"] = "Graz"  // creates the object `address` if it is missing
        document["tags[0]"] = nil  // removes the first element of the list
        print(document["address.city"]?.string ?? "There is no city.")
        document.rename("name", to: "person.name")  // does nothing if `name` is missing
        document.remove("address.street")
        document.add("stars", default: 0)  // an existing value stays
        document.copy("title", to: "subtitle")
        document.update("title") { .string(($0.string ?? "").uppercased()) }
        do { try document.convert("stars", to: .integer) } catch let error as DocumentError {
            print("\(error.path) stays unchanged: \(error)")  // the text never contains the value
        }
    }

    static func values() {
        let value: DocumentValue = ["title": "Milk", "stars": 3, "tags": ["food", nil]]
        if case .object(let properties) = value { print(properties.keys.sorted()) }
        print(value.object?["stars"]?.integer ?? 0)  // 3
        print(value.object?["title"]?.integer ?? 0)  // 0: a property for another kind of value is nil
    }

    static func types() {
        let phones = AttributeType.array(.compound("Phone", [AttributeDescription("number", .string)]))
        print(phones)  // array of Phone
        print(AttributeType.integer.canConvert(from: .string))  // true: "3" becomes 3, but a read of "x" fails
        print(AttributeType.integer.canConvert(from: .array(.string)))  // false
    }

    static func migratable() throws {
        struct Person: Codable {
            @Migratable var address: Address  // {"street":…} or, from older programs, "{\"street\":…}"
            @Migratable var birthplace: Address?
        }
        let old = Data(#"{"address": "{\"street\":\"Sporgasse\",\"city\":\"Graz\"}"}"#.utf8)
        print(try JSONDecoder().decode(Person.self, from: old).address.city)
    }

    static func paths() {
        let path: DocumentPath = "people[0].address.city"
        print(path.components.count)  // 4
        let dotted = DocumentPath([.name("example.com"), .name("city")])  // a name that contains a dot
        print(dotted)
    }

    static func shapes() {
        let stars = AttributeDescription("stars", .integer, default: 0, originalName: "rating")
        print(stars.mayBeMissing)  // true, because it has a default
        let before = EntityDescription("notes", [AttributeDescription("title", .string)])
        let now = EntityDescription("notes", version: 2, [AttributeDescription("title", .string), stars])
        print(now.differences(from: before))  // ["notes.stars is new"]
    }

    struct Book: StorageModel {
        var title: String
        var stars: Int?
        static let attributes = [AttributeDescription("title", .string), AttributeDescription("stars", .integer, isOptional: true)]
    }
}
