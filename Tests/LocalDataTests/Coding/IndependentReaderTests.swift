import Foundation
import LocalData
import TestSupport
import Testing

/// A Python program that implements only the documented format opens values that LocalData sealed (encrypted) in a
/// property list.
@Suite(.inTurn) struct IndependentReaderTests {
    struct Account: Codable, Sendable, Equatable, Identifiable {
        let id: String
    }

    @Test func `an independent program opens sealed values, and only with the right application id`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let list = StorageDomain.userDefaults(suite: "sealed")
        let key = textKey("token/a", list, .encrypted).moved(from: textKey("old", .userDefaults(suite: "older"))).expiring(
            after: .seconds(600))
        try await router.set("Grüße", for: textKey("old", .userDefaults(suite: "older")))
        _ = try await router.get(key)
        let accounts = StorageCollection<Account>("users", domain: list, security: .encrypted, owner: "Tests", description: "Accounts")
        try await router.set(Account(id: "admin/root"), in: accounts, attributes: ["colour": "blue"])
        try await router.shutdown()

        func open(_ arguments: String..., application: String? = nil) async throws -> ProgramResult {
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures/envelopes/envelope.py").path
            let place = [
                stage.preferences + "/sealed.plist", stage.root.path + "/data/sealing-key", application ?? stage.service, "sealed",
            ]
            return try await run("/usr/bin/python3", ["-B", script, "open"] + arguments.dropLast() + place + arguments.suffix(1))
        }
        let value = try await open("token/a")
        #expect(value.stdout == #""Grüße""#, "\(value.stderr)")
        let record = try await open("--namespace", "collection:users", "admin/root")
        #expect(record.stdout == #"{"id":"admin\/root"}"# || record.stdout == #"{"id":"admin/root"}"#, "\(record.stderr)")
        #expect(try await open("token/a", application: "another").status == 1)
    }
}
