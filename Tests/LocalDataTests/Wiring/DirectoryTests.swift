import BackendRuntime
import Foundation
import LocalData
import LocalDataCaches
import TestSupport
import Testing

/// The folders that a configuration uses.
@Suite(.inTurn) struct DirectoryTests {
    func directories(_ configuration: StorageConfiguration, home: String?, _ environment: [String: String]) throws -> StorageDirectories? {
        var configuration = configuration
        configuration.runtime.host.environment = environment
        configuration.runtime.host.environment["HOME"] = home
        return try configuration.directories
    }

    @Test func `a program in a session uses the XDG folders and their defaults`() throws {
        let id = "com.example.app"
        #expect(
            try directories(.xdg(applicationID: id), home: "/home/a", [:])
                == StorageDirectories(
                    preferences: "/home/a/.config", data: "/home/a/.local/share/com.example.app/LocalData",
                    state: "/home/a/.local/state/com.example.app/LocalData", locks: "/home/a/.local/state/LocalData/locks"
                )
                .caching(in: "/home/a/.cache/com.example.app/LocalData"))
        // The XDG Base Directory Specification requires that relative paths are ignored.
        let named = ["XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "relative", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"]
        #expect(
            try directories(.xdg(applicationID: id), home: "/home/a", named)
                == StorageDirectories(
                    preferences: "/c", data: "/home/a/.local/share/com.example.app/LocalData", state: "/s/com.example.app/LocalData",
                    locks: "/s/LocalData/locks"
                )
                .caching(in: "/k/com.example.app/LocalData"))
    }

    @Test func `the facts about the process have the variables that name folders, and no others`() {
        let facts = Runtime.live.host.environment
        #expect(facts["HOME"] == ProcessInfo.processInfo.environment["HOME"].flatMap { $0.isEmpty ? nil : $0 })
        #expect(facts["PATH"] == nil)
    }

    @Test func `a program without a home directory needs no folder for caches`() throws {
        let named = ["XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"]
        #expect(try directories(.xdg(applicationID: "app"), home: nil, named)?.caches == nil)
    }

    @Test func `the caches of a systemd service are in its cache directory`() throws {
        let given = ["STATE_DIRECTORY": "/var/lib/app", "CACHE_DIRECTORY": "/var/cache/app:/var/cache/other"]
        #expect(try directories(.service(applicationID: "app"), home: nil, given)?.caches == "/var/cache/app/LocalData")
    }

    @Test func `a systemd service stores everything in one root folder below its state directory`() throws {
        let given = ["STATE_DIRECTORY": "/var/lib/app:/var/lib/other", "CONFIGURATION_DIRECTORY": "/etc/app"]
        let found = try #require(try directories(.service(applicationID: "app"), home: nil, given))
        #expect(found == StorageDirectories(root: URL(fileURLWithPath: "/var/lib/app/LocalData")))
        #expect(found.preferences == "/var/lib/app/LocalData/preferences" && found.data == "/var/lib/app/LocalData/data")
    }

    @Test func `without a home directory, a router can be created, and the error of its first call says what to set`() async throws {
        var configuration = StorageConfiguration.xdg(applicationID: "app")
        configuration.runtime.host.environment = [:]
        let router = StorageRouter(configuration: configuration)
        let key = textKey("a", .userDefaults)
        let error = try await #require(throws: StorageError.self) { try await router.set("v", for: key) }
        #expect(error.code == StorageError.unavailable)
        #expect(error.message.contains("HOME"))
    }

    @Test func `without a state directory and a home directory, the error of a systemd service says what to set`() async throws {
        var configuration = StorageConfiguration.service(applicationID: "app")
        configuration.runtime.host.environment = [:]
        let router = StorageRouter(configuration: configuration)
        await expectRefusal(.unavailable, of: "a", saying: "HOME", "StateDirectory=", "Nothing was read or written") {
            try await router.set("v", for: textKey("a", .userDefaults))
        }
    }

    @Test func `custom folders are used and made private`() async throws {
        let temporary = try TemporaryDirectory()
        let directories = StorageDirectories(
            preferences: temporary.file("p"), data: temporary.file("d"), state: temporary.file("s"), locks: temporary.file("l"))
        let router = StorageRouter(configuration: StorageConfiguration(directories: directories, applicationID: "app"))
        let key = textKey("a", .userDefaults(suite: "suite"), .encrypted)
        try await router.set("v", for: key)
        #expect(try await router.get(key) == "v")
        try await router.shutdown()
        for folder in ["p", "d", "l"] { #expect(try filePermissions(temporary.file(folder)) == 0o700, "\(folder)") }
        for file in ["p/suite.plist", "d/sealing-key"] { #expect(try filePermissions(temporary.file(file)) == 0o600, "\(file)") }
    }
}
