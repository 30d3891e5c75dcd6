import Foundation
import LocalData
import LocalDataImporters
import TestSupport
import Testing

/// The samples of Sources/LocalData/Documentation.docc/ComingFromUserDefaults.md for files of a Mac.
@Suite(.inTurn) struct GuideImportTests {
    private struct Profile: Codable, Equatable {
        var age: Int
        var tags: [String]
    }

    @Test func `a program imports the settings of a Mac`() async throws {
        let stage = try Stage()
        var configuration = stage.configuration
        let file = ImportFixture.file("defaults.plist")
        configuration.useImport(.propertyList(at: file), named: "mac")
        let storage = StorageRouter(configuration: configuration)

        let mac = StorageKeyGroup(owner: "Settings", domain: .imported("mac"))
        let title = StorageKey<String>(name: "title", domain: .userDefaults, owner: "Settings", description: "The window's title")
            .moved(from: mac.key("text", "The title on the Mac"))
        let first = try await storage.get(title)  // from the file; later reads find it in the property list of the program
        #expect(first == ImportFixture.secret)
    }

    @Test func `a program converts an archive of a Mac`() async throws {
        let stage = try Stage()
        var configuration = stage.configuration
        configuration.useImport(.propertyList(at: ImportFixture.file("defaults-with-archive.plist")), named: "mac")
        let storage = StorageRouter(configuration: configuration)
        let mac = StorageKeyGroup(owner: "Settings", domain: .imported("mac"))

        // Data that NSKeyedArchiver wrote. The properties of the struct have the names that the class has encoded.
        let profile = StorageKey<Profile>(name: "profile", domain: .userDefaults, owner: "User", description: "The profile")
            .moved(from: mac.key("profile", "The archived profile")) { (archive: Data) in try KeyedArchive(archive).decode() }
        #expect(try await storage.get(profile) == Profile(age: 42, tags: ["red", "blue"]))
    }
}
