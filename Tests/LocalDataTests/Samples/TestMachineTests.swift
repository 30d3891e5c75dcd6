import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Locks of the in-memory test machine have the same effects as on a real machine.
@Suite struct TestMachineTests {
    private let database = StorageDomain.encryptedSQLite(database: "main")

    @Test func `a locked keyring locks the databases whose key is in it`() async throws {
        let machine = TestMachine()
        let key = textKey("note", database)
        try await machine.launch().set("abc", for: key)
        machine.lock(.keychain)
        let storage = machine.launch()
        await expectRefusal(.locked, of: "note") { _ = try await storage.get(key) }
        #expect(await storage.status(of: database).isLocked)
        machine.unlock(.keychain)
        #expect(try await storage.get(key) == "abc")
        #expect(try await machine.launch().get(key) == "abc")
    }

    @Test func `a router that has loaded the key continues to read, and a router that has not is locked`() async throws {
        let machine = TestMachine()
        let key = textKey("note", database)
        let (user, stranger) = (machine.launch(), machine.launch())
        try await user.set("abc", for: key)
        #expect(await !stranger.status(of: database).isLocked)
        machine.lock(.keychain)
        #expect(try await user.get(key) == "abc")
        await expectRefusal(.locked) { _ = try await stranger.get(key) }
    }

    @Test func `a locked keyring locks no database with a key elsewhere, and a database can be locked separately`() async throws {
        let machine = TestMachine { configuration in
            configuration.databaseKeySources = ["file": .keyFile("key"), "other": .keychain(service: "other")]
        }
        func status(_ name: String) async -> DomainStatus { await machine.launch().status(of: .encryptedSQLite(database: name)) }
        machine.lock(.keychain)
        #expect(await status("main").isLocked)
        #expect(await !status("file").isLocked)
        #expect(await !status("other").isLocked)
        machine.lock(.keychain(service: "other"))
        #expect(await status("other").isLocked)
        machine.lock(database)
        machine.unlock(.keychain)
        #expect(await status("main").isLocked)
        machine.unlock(database)
        #expect(await !status("main").isLocked)
    }
}

extension DomainStatus {
    fileprivate var isLocked: Bool { if case .locked = self { true } else { false } }
}
