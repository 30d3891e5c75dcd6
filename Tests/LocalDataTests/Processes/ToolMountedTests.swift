#if SQLite
    import ArgumentParser
    import Foundation
    import LocalData
    import LocalDataCommands
    import Synchronization
    import TestSupport
    import Testing

    /// The commands in a program that mounts them: `myapp storage plan`.
    @Suite(.inTurn) struct ToolMountedTests {
        /// The storage of the program. A release window keeps the legacy location of the name up to date.
        private enum AppStorage: StorageApplication {
            static let root = TemporaryDirectory.unendingFile("root")
            static let token = textKey("token", .encryptedSQLite(database: "main")).moved(from: oldToken)
            static let oldToken = textKey("token", .userDefaults(suite: "old"))
            static let name = textKey("name", .userDefaults(suite: "new")).moved(from: oldName, keeping: .untilReleased)
            static let oldName = textKey("name", .userDefaults(suite: "old"))

            static var configuration: StorageConfiguration {
                StorageConfiguration(root: root, applicationID: "org.example.mounted", version: "2.0")
            }
            static var catalogs: [any StorageKeyCatalog] { [TestCatalog(.key(token), .key(name))] }
        }

        /// Runs a command as the program would.
        /// - Returns: The text on standard output and the exit status.
        private func storage(_ arguments: String...) async -> (output: String, status: Int32) {
            let output = Shared(Data())
            var status: Int32 = 0
            do {
                try await Output.$receiver.withValue({ data in output.value.withLock { $0 += data } }) {
                    var command = try await StorageCommand<AppStorage>.asyncParseAsRoot(arguments)
                    if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
                }
            } catch {
                status = StorageCommand<AppStorage>.exitCode(for: error).rawValue
            }
            return (String(decoding: output.value.withLock(\.self), as: UTF8.self), status)
        }

        @Test func `a program plans, runs and checks its migrations with the mounted commands`() async throws {
            let router = StorageRouter(configuration: AppStorage.configuration)
            try await router.set("secret", for: AppStorage.oldToken)
            try await router.set("Kari", for: AppStorage.oldName)

            let plan = await storage("plan")
            #expect(plan.status == 0 && plan.output.contains("moved  token  defaults:old/token -> sqlite:main"), "\(plan)")
            #expect(try await router.get(AppStorage.oldToken) == "secret")
            #expect(await storage("get", "sqlite:main", "token").status == 1)

            let migrated = await storage("migrate", "--json")
            #expect(migrated.status == 0 && migrated.output.contains(#""isComplete":true"#), "\(migrated)")
            #expect(await storage("get", "sqlite:main", "token").output == "secret")
            #expect(try await !router.exists(AppStorage.oldToken))

            let audit = await storage("audit")
            #expect(audit.output.contains("unchanged  token  sqlite:main"), "\(audit)")
            let list = await storage("list")
            #expect(list.output.contains("sqlite:main  1 value") && list.output.contains("defaults:old  1 value"), "\(list)")

            #expect(await storage("windows", "list").output.hasPrefix("name  defaults:new  defaults:old/name  until it is released"))
            #expect(await storage("windows", "end", "defaults:new", "name").status == 0)
            #expect(await storage("windows", "list").output.isEmpty)
            #expect(try await !router.exists(AppStorage.oldName))

            #expect(await storage("list", "defaults:nothing").status == 66)
            #expect(await storage("windows", "end", "defaults:new", "nothing").status == 66)
            #expect(await storage("keys", "destroy-older", "--yes").status == 0)
            try await router.shutdown()
        }
    }
#endif
