import Foundation
import LocalData
import LocalDataModels
import LocalDataTesting
import TestSupport
import Testing

/// Schema snapshots: a JSON file records the schema of a catalog, and a test compares the catalog with the file. Some
/// changes are refused, and other changes only need to be recorded.
@Suite(.inTurn) struct SchemaSnapshotTests {
    struct Keys: StorageKeyCatalog {
        let id = "AppKeys"
        var allKeys: [AnyStorageKey]
        init(_ keys: AnyStorageKey...) { allKeys = keys }
    }

    struct Phone: Codable { var number: String }
    struct Note: Codable {
        var title: String
        var phones: [Phone]?
    }
    struct NumberedNote: Codable {
        var title: Int
        var phones: [Phone]?
    }
    struct StarredNote: StorageModel {
        var title: String
        var phones: [Phone]?
        var stars: Int
        var comment: String?
        static let attributes: [AttributeDescription] = [
            .init("title", .string), .init("phones", of: [Phone]?.self), .init("stars", .integer, default: 0),
            .init("comment", .string, isOptional: true),
        ]
    }
    struct RatedNote: StorageModel {
        var title: String
        var phones: [Phone]?
        var stars: Int
        var comment: String
        static let attributes: [AttributeDescription] = [
            .init("title", .string), .init("phones", of: [Phone]?.self), .init("stars", .integer), .init("comment", .string),
        ]
    }
    struct DatedNote: Codable {
        var title: String
        var phones: [Phone]?
        var date: Date
    }
    struct BareNote: Codable { var title: String }
    struct RenamedNote: StorageModel {
        var heading: String
        var phones: [Phone]?
        static let attributes: [AttributeDescription] = [
            .init("heading", .string, originalName: "title"), .init("phones", of: [Phone]?.self),
        ]
    }
    struct OtherPhone: Codable { var number: Int }
    struct RepairedNote: Codable {
        var title: String
        var phones: [OtherPhone]?
    }

    private func note<Value>(_ type: Value.Type, _ domain: StorageDomain = .userDefaults) -> StorageKey<Value> {
        StorageKey(name: "note", domain: domain, owner: "Tests", description: "A note")
    }

    /// Runs a test with an existing snapshot of a catalog.
    private func withSnapshot(of keys: Keys, _ body: (_ require: (Keys, Bool) -> FixtureMismatch?, _ path: String) throws -> Void) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("Fixtures/AppKeys.schema.json")
        func require(_ keys: Keys, _ isRecording: Bool) -> FixtureMismatch? {
            do { try requireSchemaUnchanged(keys, snapshot: path, isRecording: isRecording) } catch let error as FixtureMismatch {
                return error
            } catch { Issue.record(error) }
            return nil
        }
        let first = require(keys, false)
        #expect(first?.summary.contains("commit it") == true)
        try body(require, path)
    }

    @Test func `a snapshot is written once, and the same schema gives the same text`() throws {
        try withSnapshot(of: Keys(.key(note(Note.self)), .key(textKey("token", .keychain)))) { require, path in
            #expect(require(Keys(.key(textKey("token", .keychain)), .key(note(Note.self))), false) == nil)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(
                text == """
                    {
                      "catalog" : "AppKeys",
                      "entities" : {
                        "note" : {
                          "domain" : "userDefaults",
                          "serializer" : "json",
                          "versions" : {
                            "1" : {
                              "phones" : "array of object?",
                              "phones[].number" : "string",
                              "title" : "string"
                            }
                          }
                        },
                        "token" : {
                          "domain" : "keychain",
                          "serializer" : "json",
                          "versions" : {
                            "1" : {
                              "(value)" : "string"
                            }
                          }
                        }
                      }
                    }

                    """)
            #expect(
                try CatalogSnapshot(json: Data(text.utf8))
                    == CatalogSnapshot(Keys(.key(note(Note.self)), .key(textKey("token", .keychain)))))
        }
    }

    @Test func `if a schema changed and its version did not, the changed property is reported, and the new schema is not recorded`() throws
    {
        try withSnapshot(of: Keys(.key(note(Note.self)))) { require, path in
            let text = try String(contentsOfFile: path, encoding: .utf8)
            func refused(_ keys: Keys, _ location: SourceLocation = #_sourceLocation) -> [String] {
                let (mismatch, recorded) = (require(keys, false), require(keys, true))
                #expect(mismatch == recorded, sourceLocation: location)
                let after = try? String(contentsOfFile: path, encoding: .utf8)
                #expect(after == text, sourceLocation: location)
                return mismatch?.differences ?? []
            }
            #expect(
                refused(Keys(.key(note(NumberedNote.self)))) == [
                    "AppKeys/note.title was string and is integer; raise the version and add a step"
                ])
            #expect(
                refused(Keys(.key(note(RepairedNote.self)))) == [
                    "AppKeys/note.phones[].number was string and is integer; raise the version and add a step"
                ])
            #expect(
                refused(Keys(.key(note(DatedNote.self)))) == [
                    "AppKeys/note.date is new and required, but older values do not have it; raise the version and add a step"
                ])
            #expect(
                refused(Keys(.key(note(BareNote.self)))) == [
                    "AppKeys/note.phones was removed; raise the version and add a step",
                    "AppKeys/note.phones[].number was removed; raise the version and add a step",
                ])
            #expect(
                refused(Keys(.key(note(Note.self, .encryptedSQLite(database: "main"))))) == [
                    "AppKeys/note moved from userDefaults to encryptedSQLite(main); name the source with moved(from:)"
                ])
        }
    }

    @Test func `a property that loses its default needs a conversion step, because older values may not have the property`() throws {
        try withSnapshot(of: Keys(.key(note(StarredNote.self)))) { require, _ in
            #expect(
                require(Keys(.key(note(RatedNote.self))), true)?.differences == [
                    "AppKeys/note.comment was optional and is required; raise the version and add a step",
                    "AppKeys/note.stars had a default and is required; raise the version and add a step",
                ])
        }
    }

    @Test func `a change that loses no older value is reported until it is recorded in the snapshot`() throws {
        let token = textKey("token", .keychain)
        let cases: [(Keys, [String])] = [
            (
                Keys(.key(note(StarredNote.self))),
                ["AppKeys/note.comment is new", "AppKeys/note.stars is new"]
            ),
            (Keys(.key(note(RenamedNote.self))), ["AppKeys/note.heading was AppKeys/note.title"]),
            (Keys(.key(note(Note.self)), .key(token)), ["AppKeys/token is new"]),
            (
                Keys(.key(note(Note.self, .encryptedSQLite(database: "main")).moved(from: note(Note.self)))),
                ["AppKeys/note moved from userDefaults to encryptedSQLite(main)"]
            ),
            (
                Keys(.key(token)),
                [
                    "AppKeys/token is new",
                    "AppKeys/note was removed: its stored values stay there unread, unless another key migrates them",
                ]
            ),
            (
                Keys(.key(note(NumberedNote.self).moved(from: note(Note.self)) { NumberedNote(title: $0.title.count) })),
                ["AppKeys/note.title was string and is integer"]
            ),
        ]
        for (keys, news) in cases {
            try withSnapshot(of: Keys(.key(note(Note.self)))) { require, _ in
                let mismatch = require(keys, false)
                #expect(mismatch?.differences == news)
                #expect(mismatch?.summary.contains("LOCALDATA_RECORD=1") == true)
                #expect(require(keys, true) == nil)
                #expect(require(keys, false) == nil)
            }
        }
    }

    @Test func `a key with a raised schema version needs conversion steps from every version in the snapshot`() throws {
        let first = Evolution.from(Note.self).to { NumberedNote(title: $0.title.count, phones: $0.phones) }
        let second = first.to { DatedNote(title: "\($0.title)", phones: $0.phones, date: Date(timeIntervalSinceReferenceDate: 0)) }
        let short = Evolution.from(NumberedNote.self, version: 2).to {
            DatedNote(title: "\($0.title)", phones: $0.phones, date: Date(timeIntervalSinceReferenceDate: 0))
        }
        try withSnapshot(of: Keys(.key(note(Note.self)))) { require, path in
            let missing = [
                "AppKeys/note has version 2, but has no steps from the recorded version 1; add them with evolving(_:)"
            ]
            #expect(require(Keys(.key(note(NumberedNote.self).version(2))), false)?.differences == missing)
            let raised = Keys(.key(note(NumberedNote.self).evolving(first)))
            #expect(require(raised, false)?.differences == ["AppKeys/note has version 2 now"])
            #expect(require(raised, true) == nil)
            #expect(require(raised, false) == nil)
            // The snapshot also keeps the versions before version 2. So version 3 needs conversion steps from version
            // 1, too.
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains(#""title" : "integer""#))
            #expect(require(Keys(.key(note(DatedNote.self).evolving(short))), true)?.differences.count == 1)
            #expect(require(Keys(.key(note(DatedNote.self).evolving(second))), true) == nil)
            let back = require(raised, true)?.differences
            #expect(back?.contains("AppKeys/note had version 3 and has 2: a version must not decrease") == true)
        }
    }

    @Test func `two keys with the same name in different domains have separate entries in the snapshot`() throws {
        let two = Keys(.key(textKey("a", .keychain)), .key(textKey("a", .userDefaults)))
        try withSnapshot(of: two) { require, path in
            #expect(require(two, false) == nil)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains(#""a in userDefaults""#))
        }
    }

    struct Person: StoredEntity {
        var id: String
        var brother: StorageReference<Person>?
        static var collection: StorageCollection<Person> {
            StorageCollection("people", domain: .userDefaults, owner: "Tests", description: "People")
        }
    }

    @Test func `the snapshot of a collection contains the schema of its records and the type name that is stored with them`() throws {
        let people = Keys(.collection(Person.collection))
        let alien = StorageCollection<Person>("people", domain: .userDefaults, owner: "Tests", description: "People", typeTag: "Alien")
        #expect(
            people.allKeys[0].entity
                == EntityDescription(
                    "people",
                    [AttributeDescription("id", .string), AttributeDescription("brother", .reference("Person"), isOptional: true)]))
        try withSnapshot(of: people) { require, path in
            #expect(require(people, false) == nil)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains(#""brother" : "reference to Person?""#))
            #expect(require(Keys(.collection(alien)), false)?.differences.first?.contains("migrateAll") == true)
            #expect(
                require(Keys(.key(textKey("people", .userDefaults))), false)?.differences.first
                    == "AppKeys/people is a key now and was a collection; give it another name")
        }
    }

    @Test func `the entity of a key has the name and the version of the key, and the attributes of its type`() {
        let entity = AnyStorageKey.key(note(BareNote.self).version(4)).entity
        #expect(entity == EntityDescription("note", version: 4, [AttributeDescription("title", .string)]))
        #expect(AnyStorageKey.key(textKey("token", .keychain)).entity == EntityDescription("token"))
    }
}
