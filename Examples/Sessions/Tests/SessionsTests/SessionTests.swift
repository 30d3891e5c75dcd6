import BackendContract
import Configuration
import Foundation
import Hummingbird
import HummingbirdTesting
import LocalData
import LocalDataTesting
import Testing

@testable import Sessions

/// The HTTP interface over storage in memory, and the settings.
@Suite struct SessionTests {
    private static let domain = StorageDomain.encryptedSQLite(database: "sessions")

    /// A machine on which version 1 has stored tokens.
    private static func machine(_ tokens: [String: String] = [:]) -> TestMachine {
        let machine = TestMachine()
        if !tokens.isEmpty {
            machine.seedUserDefaults(["tokens": .dictionary(tokens.mapValues { .string($0) })], suite: Settings.applicationID)
        }
        return machine
    }

    /// Runs a test with a server whose services do not run: values are migrated when they are read.
    private static func withClient(
        _ storage: StorageRouter, _ test: @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let application = Application(router: makeRouter(LocalDataStore(storage, domain: domain)))
        try await application.test(.router, test)
    }

    /// Sends a request, and expects a status and the text of the answer.
    private static func expect(
        _ status: Int, _ client: any TestClientProtocol, _ method: HTTPRequest.Method, _ uri: String, _ body: String? = nil,
        answer: String? = nil
    ) async throws {
        let response = try await client.execute(uri: uri, method: method, body: body.map { ByteBuffer(string: $0) })
        #expect(response.status.code == status, "\(method) \(uri)")
        if let answer { #expect(String(buffer: response.body) == answer, "\(method) \(uri)") }
    }

    @Test("a session is created once, found until it is deleted, and then absent")
    func sessions() async throws {
        try await Self.withClient(Self.machine().launch()) { client in
            try await Self.expect(404, client, .get, "/sessions/a")
            try await Self.expect(201, client, .put, "/sessions/a", "kari")
            try await Self.expect(409, client, .put, "/sessions/a", "ola")
            try await Self.expect(200, client, .get, "/sessions/a", answer: "kari")
            try await Self.expect(204, client, .delete, "/sessions/a")
            try await Self.expect(404, client, .get, "/sessions/a")
            try await Self.expect(204, client, .delete, "/sessions/a")
        }
    }

    @Test("a token of version 1 is moved at the first read, and sealed")
    func migration() async throws {
        let storage = Self.machine(["kari": "t-1", "ola": "t-2"]).launch()
        try await Self.withClient(storage) { client in
            try await Self.expect(200, client, .get, "/tokens/kari", answer: "t-1")
        }
        let list = StorageKey<[String: String]>(name: "tokens", domain: .userDefaults(suite: Settings.applicationID))
        #expect(try await storage.value(for: list) == nil)
    }

    @Test("a token of version 1 that was removed or changed before the migration does not return")
    func changesBeforeMigration() async throws {
        let machine = Self.machine(["kari": "t-1", "ola": "t-2", "per": "t-3"])
        try await Self.withClient(machine.launch()) { client in
            try await Self.expect(204, client, .delete, "/tokens/kari")
            try await Self.expect(204, client, .put, "/tokens/ola", "t-4")
        }
        machine.cut()
        try await Self.withClient(machine.launch()) { client in
            try await Self.expect(200, client, .get, "/tokens/per", answer: "t-3")
            try await Self.expect(404, client, .get, "/tokens/kari")
            try await Self.expect(200, client, .get, "/tokens/ola", answer: "t-4")
        }
    }

    @Test("the services move the tokens of version 1 without a request, and the health check is then healthy", .timeLimit(.minutes(1)))
    func services() async throws {
        let storage = Self.machine(["kari": "t-1"]).launch()
        let store = LocalDataStore(storage, domain: Self.domain)
        let application = Application(router: makeRouter(store), services: store.services)
        try await application.test(.router) { client in
            let list = StorageKey<[String: String]>(name: "tokens", domain: .userDefaults(suite: Settings.applicationID))
            while try await storage.value(for: list) != nil { await Task.yield() }
            try await Self.expect(200, client, .get, "/tokens/kari", answer: "t-1")
            let health = try await client.execute(uri: "/health", method: .get)
            #expect(health.status == .ok)
            #expect(String(buffer: health.body).contains("\"isHealthy\":true"))
        }
    }

    @Test("an unreachable store is answered with 503, never with 404")
    func unavailable() async throws {
        let machine = Self.machine()
        machine.makeUnavailable(Self.domain)
        try await Self.withClient(machine.launch()) { client in
            try await Self.expect(503, client, .get, "/sessions/a")
            try await Self.expect(503, client, .put, "/sessions/a", "kari")
        }
    }

    @Test("names with other characters, and empty bodies, are refused")
    func badRequests() async throws {
        try await Self.withClient(Self.machine().launch()) { client in
            try await Self.expect(400, client, .put, "/sessions/a%20b", "kari")
            try await Self.expect(400, client, .put, "/sessions/\(String(repeating: "a", count: 101))", "kari")
            try await Self.expect(400, client, .put, "/sessions/a", "")
        }
    }

    @Test("the hand-written store answers as the one with LocalData does, also after a restart")
    func handWritten() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "sessions-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let directories = StorageDirectories(root: root)
        try FileManager.default.createDirectory(atPath: directories.preferences, withIntermediateDirectories: true)
        let list = URL(filePath: directories.preferences).appending(path: "version-1.plist")
        try PropertyListSerialization.data(fromPropertyList: ["tokens": ["kari": "t-1"]], format: .xml, options: 0).write(to: list)

        let first = try HandWrittenStore(directories: directories, suite: "version-1")
        #expect(try await first.create("a", user: "kari"))
        #expect(try await !first.create("a", user: "ola"))
        try await first.set(token: "t-2", of: "ola")
        let second = try HandWrittenStore(directories: directories, suite: "version-1")
        #expect(await second.user(of: "a") == "kari")
        #expect(await second.token(of: "kari") == "t-1")
        #expect(await second.token(of: "ola") == "t-2")
        #expect(!FileManager.default.fileExists(atPath: list.path))
    }

    @Test("a setting comes from the environment, then from the user defaults, then from its default")
    func settings() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "sessions-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let storage = StorageRouter(configuration: StorageConfiguration(root: root, applicationID: Settings.applicationID))
        let stored = StorageDomain.userDefaults(suite: "settings")
        try await storage.set(8_081, for: StorageKey<Int>(name: "sessions.port", domain: stored))
        try await storage.set("0.0.0.0", for: StorageKey<String>(name: "sessions.host", domain: stored))
        try await storage.shutdown()

        var environment = ["SESSIONS_ROOT": root.path, "SESSIONS_PORT": "8082"]
        let settings = try await Settings.read(EnvironmentVariablesProvider(environmentVariables: environment))
        #expect(settings.port == 8_082)
        #expect(settings.host == "0.0.0.0")
        #expect(settings.store == .localdata)
        #expect(settings.domain == .encryptedSQLite(database: "sessions"))

        environment["SESSIONS_DATABASE"] = "postgresql:///sessions"
        let shared = try await Settings.read(EnvironmentVariablesProvider(environmentVariables: environment))
        #expect(shared.domain.kind.name == "postgreSQL")

        environment["SESSIONS_PORT"] = "http"
        let wrong = EnvironmentVariablesProvider(environmentVariables: environment)
        await #expect(throws: (any Error).self) { try await Settings.read(wrong) }
    }
}
