import Foundation
import LocalData
import LocalDataModels
import LocalDataTesting
import Testing

@testable import LocalDataAuthoring

/// The differences that the plugin prints, and the drafts of the steps, for each kind of change.
@Suite struct SchemaChangeTests {
    struct Keys: StorageKeyCatalog {
        let id = "Keys"
        var allKeys: [AnyStorageKey]
        init(_ keys: AnyStorageKey...) { allKeys = keys }
    }

    struct Street: Codable { var name: String }
    struct NumberedStreet: Codable { var name: Int }
    struct Address: Codable {
        var city: String
        var zip: String?
        var streets: [Street]
    }

    private func key<Value>(_ type: Value.Type, _ name: String = "home", _ domain: StorageDomain = .userDefaults) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }

    /// The texts of the changes, and the steps that they need.
    private func compare(_ now: Keys, with before: Keys) -> (texts: [String], refused: [String], steps: [MigrationStep]) {
        let (shapes, recorded) = (now.allKeys.map(EntityShape.init), CatalogSnapshot(before))
        let changes = SchemaDifferences(shapes, catalog: "Keys", recorded: recorded).changes
        return (
            changes.map(\.text), changes.filter { $0.effect == .refused }.map(\.description),
            MigrationStep.all(shapes, changes, recorded: recorded)
        )
    }

    private var before: Keys { Keys(.key(key(Address.self))) }

    @Test func `a property of another type is converted in the draft`() throws {
        struct Numbered: Codable {
            var city: Int
            var zip: String?
            var streets: [Street]
        }
        let (texts, _, steps) = compare(Keys(.key(key(Numbered.self))), with: before)
        #expect(texts == ["Keys/home.city was string and is integer"])
        let step = try #require(steps.first)
        #expect(step.from == 1 && step.to == 2 && step.function == "convertHome")
        #expect(StepDraft(step.changes).lines == [#"try document.convert("city", to: .integer)"#])
        let draft = StepDraft(step.changes).applied(to: StoredDocument(["city": "8010", "streets": []]))
        #expect(draft == StoredDocument(["city": 8010, "streets": []]))
        // A text that is no number is replaced by a sample.
        #expect(StepDraft(step.changes).applied(to: StoredDocument(["city": "Graz"]))["city"] == 1)
    }

    @Test func `a new required property is added in the draft, and a removed one is removed`() throws {
        struct Moved: Codable {
            var city: String
            var country: String
            var streets: [Street]
        }
        let (texts, _, steps) = compare(Keys(.key(key(Moved.self))), with: before)
        #expect(texts == ["Keys/home.country is new and required, but older values do not have it", "Keys/home.zip was removed"])
        let draft = StepDraft(try #require(steps.first).changes)
        #expect(draft.lines == [#"document.add("country", default: "1")"#, #"document.remove("zip")"#])
        #expect(draft.applied(to: StoredDocument(["zip": "8010", "country": "AT"])) == StoredDocument(["country": "AT"]))
    }

    @Test func `a renamed property of another type is renamed and converted in the draft`() throws {
        struct Renamed: StorageModel {
            var code: Int
            var zip: String?
            var streets: [Street]
            static let attributes: [AttributeDescription] = [
                .init("code", .integer, originalName: "city"), .init("zip", .string, isOptional: true), .init("streets", of: [Street].self),
            ]
        }
        let (texts, _, steps) = compare(Keys(.key(key(Renamed.self))), with: before)
        #expect(texts == ["Keys/home.city was string, and as Keys/home.code it is integer"])
        let draft = StepDraft(try #require(steps.first).changes)
        #expect(draft.lines == [#"document.rename("city", to: "code")"#, #"try document.convert("code", to: .integer)"#])
        #expect(draft.applied(to: StoredDocument(["city": "7"])) == StoredDocument(["code": 7]))
    }

    @Test func `a changed property inside a list is named in the draft`() throws {
        struct Repaired: Codable {
            var city: String
            var zip: String?
            var streets: [NumberedStreet]
        }
        let (_, _, steps) = compare(Keys(.key(key(Repaired.self))), with: before)
        let draft = StepDraft(try #require(steps.first).changes)
        #expect(draft.lines == ["// Convert streets[].name to integer."])
        let document = StoredDocument(["city": "Graz"])
        #expect(draft.applied(to: document) == document)
    }

    @Test func `harmless changes need no step`() {
        struct Wider: StorageModel {
            var town: String
            var zip: String?
            var streets: [Street]
            var note: String?
            static let attributes: [AttributeDescription] = [
                .init("town", .string, originalName: "city"), .init("zip", .string, isOptional: true), .init("streets", of: [Street].self),
                .init("note", .string, isOptional: true),
            ]
        }
        let (texts, refused, steps) = compare(Keys(.key(key(Wider.self)), .key(key(Int.self, "count"))), with: before)
        #expect(texts == ["Keys/home.note is new", "Keys/home.town was Keys/home.city", "Keys/count is new"])
        #expect(refused.isEmpty && steps.isEmpty)
        let removed = compare(Keys(), with: before)
        #expect(removed.texts.count == 1 && removed.texts[0].hasPrefix("Keys/home was removed") && removed.steps.isEmpty)
    }

    @Test func `another domain without a source, an unreadable serializer, and a key that becomes a collection are refused`() {
        struct Record: Codable, Identifiable {
            var id: String
            var city: String
        }
        #expect(
            compare(Keys(.key(key(Address.self, "home", .keychain))), with: before).refused == [
                "Keys/home moved from userDefaults to keychain; name the source with moved(from:)"
            ])
        let moved = key(Address.self, "home", .keychain).moved(from: key(Address.self))
        #expect(compare(Keys(.key(moved)), with: before).refused.isEmpty)
        let records = StorageCollection<Record>("home", domain: .userDefaults, owner: "Tests", description: "Addresses")
        #expect(
            compare(Keys(.collection(records)), with: before).refused == [
                "Keys/home is a collection now and was a key; give it another name"
            ])
    }

    @Test func `a version below the recorded one is refused`() {
        let (_, refused, steps) = compare(before, with: Keys(.key(key(Address.self).version(3))))
        #expect(refused == ["Keys/home had version 3 and has 1: a version must not decrease"])
        #expect(steps.isEmpty)
    }

    @Test func `a version that was raised without a step gets a step to it`() throws {
        struct Numbered: Codable {
            var city: Int
            var zip: String?
            var streets: [Street]
        }
        let (_, refused, steps) = compare(Keys(.key(key(Numbered.self).version(4))), with: before)
        #expect(refused.isEmpty)
        let step = try #require(steps.first)
        #expect(step.from == 1 && step.to == 4)
        #expect(StepDraft(step.changes).lines == [#"try document.convert("city", to: .integer)"#])
        #expect(step.declaration(in: "KeysRelease2") == ".evolving(Evolution.from(version: 1).to(version: 4, KeysRelease2.convertHome))")
    }

    @Test func `a key with a chain gets a step that is added to the chain`() throws {
        struct Numbered: Codable {
            var city: Int
            var zip: String?
            var streets: [Street]
        }
        let chain = Evolution.from(version: 1).to { $0.remove("note") }
        let (_, _, steps) = compare(
            Keys(.key(key(Numbered.self).evolving(chain))), with: Keys(.key(key(Address.self).evolving(chain))))
        let step = try #require(steps.first)
        #expect(step.from == 2 && step.to == 3)
        #expect(
            step.instruction(in: "KeysRelease3") == "Add `.to(version: 3, KeysRelease3.convertHome)` to the chain of the key home.")
    }
}
