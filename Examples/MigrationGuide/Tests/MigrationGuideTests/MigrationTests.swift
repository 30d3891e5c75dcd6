import Foundation
import LocalData
import LocalDataTesting
import Testing

/// The samples of the guide about the migrations of single keys, each with its short form.
@Suite struct MigrationTests {
    @Test(arguments: [StorageKey<String>.token, StorageKey<String>.shortToken])
    func `the first read moves the token to the keyring`(token: StorageKey<String>) async throws {
        let storage = try await machineOfVersion1().launch()
        #expect(try await storage.get(token) == "abc")
        #expect(try await storage.exists(token))
        #expect(try await !storage.exists(.oldToken))
    }

    @Test func `a forced migration moves the value of one key`() async throws {
        let storage = try await machineOfVersion1().launch()
        let result = try await storage.forceMigration(for: .token)
        #expect(result.isSuccess)
        #expect(result.state == .moved)
        #expect(try await !storage.exists(.oldToken))
    }

    @Test func `a short form declares the same migration as its type`() {
        #expect(StorageKey<String>.shortToken.migrations.map(\.id) == StorageKey<String>.token.migrations.map(\.id))
        #expect(StorageKey<Int>.shortInterval.migrations.map(\.id) == StorageKey<Int>.interval.migrations.map(\.id))
        #expect(StorageKey<String>.shortObserver.migrations.map(\.id) == StorageKey<String>.observer.migrations.map(\.id))
    }

    @Test(arguments: [("home", "Graz"), ("work", "Linz")])
    func `a custom migration moves the city of the profile in use and leaves the other one`(profile: String, city: String) async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["profile": .string(profile), "city.home": .string("Graz"), "city.work": .string("Linz")])
        let storage = machine.launch()
        #expect(try await storage.get(.city) == city)
        #expect(try await storage.exists(CityOfProfile.city(of: "home")) == (profile == "work"))
        #expect(try await storage.exists(CityOfProfile.city(of: "work")) == (profile == "home"))
    }

    @Test func `a custom migration reads a file, and deletes it after the value is stored`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "favourites-\(UUID().uuidString).txt")
        try Data("Graz\nLinz\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let favourites = StorageKey<[String]>(name: "favourites", domain: .userDefaults) { key in
            AnyStorageMigration(FavouritesOfFile(destinationKey: key, file: file))
        }
        let machine = TestMachine()
        #expect(try await machine.launch().get(favourites) == ["Graz", "Linz"])
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(try await machine.launch().get(favourites) == ["Graz", "Linz"])
    }

    @Test(arguments: [StorageKey<Int>.interval, StorageKey<Int>.shortInterval])
    func `a transformation that throws leaves the text, and the next read tries again`(interval: StorageKey<Int>) async throws {
        let machine = try await machineOfVersion1(interval: "soon")
        let storage = machine.launch()
        let error = await #expect(throws: StorageError.self) { try await storage.get(interval) }
        #expect(error?.code == .migrationFailed)
        #expect(try await storage.get(.intervalText) == "soon")

        machine.seedUserDefaults(["intervalText": .string("15")])
        #expect(try await storage.get(interval) == 15)
        #expect(try await !storage.exists(.intervalText))
    }

    @Test(arguments: [StorageKey<String>.observer, StorageKey<String>.shortObserver])
    func `two values are merged when both exist`(observer: StorageKey<String>) async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["firstName": .string("Ada")])
        let storage = machine.launch()
        #expect(try await storage.value(for: observer) == nil)
        #expect(try await storage.get(.firstName) == "Ada")

        machine.seedUserDefaults(["lastName": .string("Lovelace")])
        #expect(try await storage.get(observer) == "Ada Lovelace")
        #expect(try await !storage.exists(.firstName))
        #expect(try await !storage.exists(.lastName))
    }

    private struct ThemeKeys: StorageKeyCatalog {
        let theme: StorageKey<String>
        var allKeys: [AnyStorageKey] { [.key(theme)] }
    }

    @Test func `a migration below version 2 does not run after version 2 completed a sweep`() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["skin": .string("dark")])
        let keys = ThemeKeys(theme: .theme)
        try await machine.launch(version: "2.0").registerCatalog(keys, migrateImmediately: true).requireComplete()
        machine.seedUserDefaults(["skin": .string("light")])  // of another program
        let storage = machine.launch(version: "2.1")
        try await storage.registerCatalog(keys, migrateImmediately: true).requireComplete()
        #expect(try await storage.get(.theme) == "dark")
        #expect(try await storage.get(.skin) == "light")
    }

    @Test func `a condition can limit a migration to sweeps`() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["skin": .string("dark")])
        let storage = machine.launch()
        #expect(try await storage.value(for: .sweptTheme) == nil)
        try await storage.registerCatalog(ThemeKeys(theme: .sweptTheme), migrateImmediately: true).requireComplete()
        #expect(try await storage.get(.sweptTheme) == "dark")
    }

    @Test func `a chain of versions converts the value in its slot`() async throws {
        let storage = try await machineOfVersion1().launch()
        #expect(try await storage.get(.home) == Place(city: "Graz", country: "Austria", label: "Graz"))
        #expect(try await storage.storedValue(for: .home)?.schemaVersion == 3)
    }

    @Test func `two releases share one value until the release window ends`() async throws {
        let machine = TestMachine()
        let (release1, release2) = (machine.launch(version: "1.4"), machine.launch(version: "2.0"))
        try await release1.set("de", for: .oldLanguage)
        #expect(try await release2.get(.language) == "de")
        try await release2.set("en", for: .language)
        #expect(try await release1.get(.oldLanguage) == "en")
    }
}
