import Foundation
import LocalData

func editing(_ document: StoredDocument) {
    let empty = StoredDocument()
    let note = StoredDocument(["title": "Groceries", "stars": 3, "tags": ["home"]])

    for name in document.names { print(name) }  // empty for a document that is a list or a text

    let fileName = DocumentPath([.name("files"), .name("a.txt")])  // a dot in a name does not separate steps

    let path = DocumentPath("phones[0].number")
    print(path.components)  // the name "phones", the position 0, the name "number"
    print(empty, note, fileName)
}

func describing(_ entity: EntityDescription) {
    if entity.attribute("stars") == nil { print("\(entity.name) has no property with the name stars.") }
}

func failing(_ storage: StorageRouter, _ key: StorageKey<Person>) async throws {
    do {
        show(try await storage.get(key).name)
    } catch let error as StorageError where error.code == .undecodable {
        if let failure = error.underlying as? CodingFailure { print(failure.path, failure.kind) }  // .name is not of type String
    }
}

// MARK: Serializers

func serializing(_ storage: StorageRouter) async throws {
    let person = StorageKey<Person>(name: "person", domain: .userDefaults, serializer: .plist)
    do {
        show(try await storage.get(person).name)
    } catch StorageError.undecodable {
        // The stored bytes are not a person. They are unchanged.
    }

    let width = StorageKey<Int>(name: "width", domain: .userDefaults, serializer: .json)  // a number in the property list

    let layout = StorageKey<[String: Double]>(name: "layout", domain: .encryptedSQLite(database: "editor"), serializer: .plist)

    let lines = Serializer<[String]>.custom(
        name: "lines", encode: { Data($0.joined(separator: "\n").utf8) },
        decode: { data in
            guard let text = String(data: data, encoding: .utf8) else { throw CocoaError(.coderReadCorrupt) }
            return text.components(separatedBy: "\n")
        })
    let words = StorageKey<[String]>(name: "words", domain: .userDefaults, serializer: lines)

    let image = StorageKey<Data>(name: "avatar", domain: .encryptedSQLite(database: "editor"), serializer: .data)
    print(width, layout, words, image)
}
