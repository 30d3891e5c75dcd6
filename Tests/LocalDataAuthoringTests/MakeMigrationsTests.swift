import AuthoringSamples
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalDataAuthoring

/// The commands of the plugin, from a new catalog to a recorded release with written steps.
@Suite(.inTurn) struct MakeMigrationsTests {
    private static let steps = "AuthoringSamples/Desk/Migrations/DeskKeysRelease2.swift"
    private static let stepTests = "LocalDataAuthoringTests/Migrations/DeskKeysRelease2Tests.swift"
    private static let releaseTests = "LocalDataAuthoringTests/Migrations/DeskKeysReleaseTests.swift"

    /// A package that has recorded release 1.
    private func recorded() async throws -> AuthoredPackage {
        let package = try AuthoredPackage()
        let first = try await package.run("make-migrations", for: FormerDeskKeys())
        #expect(first.status == 0, "\(first.text)")
        return package
    }

    @Test func `a new catalog gets a snapshot, a fixture and a test, and a second run changes nothing`() async throws {
        let package = try await recorded()
        let files = try package.files()
        for file in [
            Self.releaseTests, "AuthoringSamples/Migrations/DeskKeys/schema.json", "AuthoringSamples/Migrations/DeskKeys/1/schema.json",
            "AuthoringSamples/Migrations/DeskKeys/1/expected.json", "AuthoringSamples/Migrations/DeskKeys/1/release.json",
        ] {
            #expect(files.contains(file), "\(files)")
        }
        #expect(!files.contains { $0.contains(".draft") }, "\(files)")
        let before = try package.contents()
        let second = try await package.run("make-migrations", for: FormerDeskKeys())
        #expect(second.status == 0 && second.text.contains("Release 1 is recorded."), "\(second.text)")
        #expect(try package.contents() == before)
        let check = try await package.run("check", for: FormerDeskKeys())
        #expect(check.status == 0 && check.text == "DeskKeys: release 1 is recorded.")
    }

    @Test func `the generated steps and tests are the files of this repository, which are compiled`() async throws {
        let package = try await recorded()
        let made = try await package.run("make-migrations", for: DeskKeys(.undeclared))
        #expect(
            made.text == """
                The changes of DeskKeys:
                  DeskKeys/editor.fontSize was string and is integer
                  DeskKeys/editor.theme is new and required, but older values do not have it
                  DeskKeys/editor.ruler was removed
                  DeskKeys/pin was string and is integer
                  DeskKeys/notes.stars is new and required, but older values do not have it
                Wrote Desk/Migrations/DeskKeysRelease2.swift.
                Wrote ../LocalDataAuthoringTests/Migrations/DeskKeysRelease2Tests.swift.
                Next:
                  Declare the key editor with `.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertEditor))`.
                  Declare the collection notes with `.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertNotes))`.
                  Declare the key pin with `.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertPin))`.
                  Write DeskKeysRelease2, and the expected values in DeskKeysRelease2Tests. Then run this command again: it records release 2.
                """)
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        for file in [Self.steps, Self.stepTests] {
            let compiled = try String(contentsOf: tests.appending(path: file), encoding: .utf8)
            #expect(try package.text(file) == compiled)
        }
        _ = try FileManager.default.removeItem(at: package.url(Self.releaseTests))
        _ = try await package.run("make-migrations", for: DeskKeys())
        let compiled = try String(contentsOf: tests.appending(path: Self.releaseTests), encoding: .utf8)
        #expect(try package.text(Self.releaseTests) == compiled)
    }

    @Test func `a generated step throws until it is written, and then nothing is recorded`() async throws {
        let package = try await recorded()
        _ = try await package.run("make-migrations", for: DeskKeys(.undeclared))
        let before = try package.contents()
        let made = try await package.run("make-migrations", for: DeskKeys(.unwritten))
        #expect(made.status == 1)
        #expect(
            made.text.contains("nothing was recorded: migrationFailed") && made.text.contains("Write DeskKeysRelease2.convertEditor."),
            "\(made.text)")
        #expect(try package.contents() == before)
    }

    @Test func `written steps are recorded with the values that they make, without protected values`() async throws {
        let package = try await recorded()
        _ = try await package.run("make-migrations", for: DeskKeys(.undeclared))
        let before = try package.contents()
        let plan = try await package.run("make-migrations", "--dry-run", for: DeskKeys())
        #expect(plan.status == 0 && plan.text.contains("Would record release 2."), "\(plan.text)")
        #expect(try package.contents() == before)

        let made = try await package.run("make-migrations", for: DeskKeys())
        #expect(made.status == 0, "\(made.text)")
        #expect(
            made.text.contains(
                """
                Values of earlier releases that the steps change:
                  1/editor was {"fontSize":"1","ruler":true} and is {"fontSize":1,"theme":"1"}
                  1/notes was {"1":{"id":"1","title":"1"}} and is {"1":{"id":"1","stars":1,"title":"1"}}
                  1/pin has another value, which is protected and not shown
                """), "\(made.text)")
        let folder = package.url("AuthoringSamples/Migrations/DeskKeys").path
        try requireSchemaUnchanged(DeskKeys(), snapshot: "\(folder)/schema.json", isRecording: false)
        try await GoldenStore.replay(DeskKeys(), in: folder, isRecording: false)
        // The snapshot keeps version 1, so a later release needs steps from it.
        #expect(try package.text("AuthoringSamples/Migrations/DeskKeys/schema.json").contains(#""fontSize" : "string""#))

        let after = try package.contents()
        let second = try await package.run("make-migrations", for: DeskKeys())
        #expect(second.status == 0 && second.text.contains("Release 2 is recorded."))
        #expect(try package.contents() == after)
        let check = try await package.run("check", for: DeskKeys())
        #expect(check.status == 0)
    }

    @Test func `check fails without a snapshot, after a change, and without the fixture of the newest version`() async throws {
        let package = try AuthoredPackage()
        let none = try await package.run("check", for: FormerDeskKeys())
        #expect(none.status == 1 && none.text.contains("was never recorded"))
        _ = try await package.run("make-migrations", for: FormerDeskKeys())
        let changed = try await package.run("check", for: DeskKeys(.undeclared))
        #expect(changed.status == 1 && changed.text.contains("DeskKeys/editor.fontSize was string and is integer"))
        _ = try await package.run("make-migrations", for: DeskKeys())
        try FileManager.default.removeItem(at: package.url("AuthoringSamples/Migrations/DeskKeys/2"))
        let missing = try await package.run("check", for: DeskKeys())
        #expect(missing.status == 1 && missing.text.contains("The newest version of DeskKeys has no fixture."), "\(missing.text)")
        _ = try await package.run("make-migrations", for: DeskKeys())
        let repaired = try await package.run("check", for: DeskKeys())
        #expect(repaired.status == 0, "\(repaired.text)")
    }

    @Test func `if the snapshot is missing beside recorded releases, no command replaces it`() async throws {
        let package = try await recorded()
        try FileManager.default.removeItem(at: package.url("AuthoringSamples/Migrations/DeskKeys/schema.json"))
        for command in ["make-migrations", "check"] {
            let answer = try await package.run(command, for: FormerDeskKeys())
            #expect(answer.status == 1 && answer.text.contains("Restore it from version control."), "\(answer.text)")
        }
        #expect(try !package.files().contains("AuthoringSamples/Migrations/DeskKeys/schema.json"))
    }

    @Test func `an edited file is kept, and the code of a step that it lacks is printed`() async throws {
        let package = try await recorded()
        _ = try await package.run("make-migrations", "--name", "wide desk", for: DeskKeys(.undeclared))
        let steps = "AuthoringSamples/Desk/Migrations/DeskKeysRelease2WideDesk.swift"
        let edited = try package.text(steps).replacing("// document.remove(\"ruler\")", with: "document.remove(\"ruler\")")
        try Data(edited.utf8).write(to: package.url(steps))
        let kept = try await package.run("make-migrations", for: DeskKeys(.undeclared))
        #expect(kept.status == 0 && kept.text.contains("Kept Desk/Migrations/DeskKeysRelease2WideDesk.swift."), "\(kept.text)")
        #expect(try package.text(steps) == edited)

        try Data("enum DeskKeysRelease2WideDesk {}\n".utf8).write(to: package.url(steps))
        try FileManager.default.removeItem(at: package.url("LocalDataAuthoringTests/Migrations/DeskKeysRelease2WideDeskTests.swift"))
        let before = try package.contents()
        let refused = try await package.run("make-migrations", for: DeskKeys(.undeclared))
        #expect(refused.status == 1)
        #expect(refused.text.contains("static func convertEditor(_ document: inout StoredDocument) throws {"), "\(refused.text)")
        #expect(try package.contents() == before)
    }

    @Test func `values with a custom serializer get no step, because they are no documents`() async throws {
        let package = try AuthoredPackage(module: "LocalDataAuthoringTests")
        let first = try await package.run("make-migrations", for: OpaqueKeys<String>())
        #expect(first.status == 0, "\(first.text)")
        let before = try package.contents()
        let refused = try await package.run("make-migrations", for: OpaqueKeys<Int>())
        #expect(refused.status == 1 && refused.text.contains("the key opaque: they have a custom serializer"), "\(refused.text)")
        #expect(try package.contents() == before)
    }

    @Test func `a lower version is refused, and nothing is written`() async throws {
        let package = try await recorded()
        _ = try await package.run("make-migrations", for: DeskKeys())
        let before = try package.contents()
        let refused = try await package.run("make-migrations", for: FormerDeskKeys())
        #expect(refused.status == 1, "\(refused.text)")
        #expect(refused.text.contains("DeskKeys/pin had version 2 and has 1: a version must not decrease"), "\(refused.text)")
        #expect(try package.contents() == before)
    }

    @Test func `a value that the samples do not fit comes from fill, and is reported without it`() async throws {
        let package = try AuthoredPackage(module: "LocalDataAuthoringTests")
        let reported = try await package.run("make-migrations", "--dry-run", for: EvenKeys())
        #expect(reported.status == 0, "\(reported.text)")
        let without = try await package.run("make-migrations", for: EvenKeys())
        #expect(without.text.contains("The release has no value of even: no sample fits its type."), "\(without.text)")
        let other = try AuthoredPackage(module: "LocalDataAuthoringTests")
        let filled = try await other.run("make-migrations", for: EvenKeys()) { try await $0.set(EvenNumber(2), for: EvenKeys.even) }
        #expect(filled.status == 0 && !filled.text.contains("has no value"), "\(filled.text)")
        #expect(try other.text("AuthoringSamples/Migrations/EvenKeys/1/expected.json").contains(#""even" : 2"#))
    }
}

/// A catalog whose values have a custom serializer.
struct OpaqueKeys<Value: Codable & Sendable>: StorageKeyCatalog {
    let id = "OpaqueKeys"
    var allKeys: [AnyStorageKey] {
        let serializer = Serializer<Value>.custom(
            name: "lines", encode: { try JSONEncoder().encode($0) }, decode: { try JSONDecoder().decode(Value.self, from: $0) })
        return [
            .key(StorageKey(name: "opaque", domain: .userDefaults, serializer: serializer, owner: "Tests", description: "A value"))
        ]
    }
}

/// A number that cannot be decoded from the samples of an integer.
struct EvenNumber: Codable {
    private let number: Int
    init(_ number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
        number = try decoder.singleValueContainer().decode(Int.self)
        guard number > 1, number.isMultiple(of: 2) else {
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "The number is odd or zero."))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}

struct EvenKeys: StorageKeyCatalog {
    static let even = StorageKey<EvenNumber>(name: "even", domain: .userDefaults, owner: "Tests", description: "An even number")
    var allKeys: [AnyStorageKey] { [.key(Self.even)] }
}
