#if Keyring && os(Linux)
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataImporters
    import LocalDataTesting
    import TestSupport
    import Testing

    /// Items of other programs in the keyring, which are only read.
    @Suite(.inTurn, .slow("uses a keyring"), .tags(.keyring)) struct KeyringImportTests {
        private static let old = textKey("token", .imported("keyring"))

        private let stage: Stage
        private let keyring: PrivateKeyring
        /// An attribute that only the items of this test have.
        private let id = UUID().uuidString

        init() throws {
            stage = try Stage(keyring: true)
            keyring = try #require(stage.keyring)
        }

        private var key: StorageKey<String> { textKey("token", .keychain(service: stage.service)).moved(from: Self.old) }

        private func launch(_ attributes: [String: String]) -> StorageRouter {
            stage.launch { $0.useImport(.keyringItems(["token": attributes]), named: "keyring") }
        }

        private func store(_ text: String, _ attributes: String...) async throws {
            let made = try await run(
                "secret-tool", ["store", "--label=theirs"] + attributes, environment: keyring.environment, input: text)
            try #require(made.status == 0, "\(made)")
        }

        private func lookup(_ attributes: String...) async throws -> String {
            try await run("secret-tool", ["lookup"] + attributes, environment: keyring.environment).stdout
        }

        @Test func `an item is found by some of its attributes, and it stays in the keyring`() async throws {
            try await store("secret of kari", "app", "mail", "user", "kari", "id", id)
            let router = launch(["app": "mail", "id": id])
            #expect(try await router.get(key) == "secret of kari")
            #expect(try await lookup("id", id) == "secret of kari")
            try await router.remove(key)
            #expect(try await launch(["id": id]).value(for: key) == nil)
            #expect(try await lookup("id", id) == "secret of kari")
        }

        @Test func `an item of Python's keyring is found with its application`() async throws {
            try await store("secret of kari", "application", "Python keyring library", "service", id, "username", "kari")
            #expect(try await launch(["service": id, "username": "kari"]).get(key) == "secret of kari")
        }

        @Test func `two items with the attributes are ambiguous, and no item is absent`() async throws {
            try await store("one", "user", "kari", "id", id)
            try await store("two", "user", "sam", "id", id)
            let router = launch(["id": id])
            await expectRefusal(StorageError.ambiguous, hiding: ["one", "two"].map { "\"\($0)\"" }) { _ = try await router.get(key) }
            #expect(try await launch(["id": id, "user": "sam"]).get(Self.old) == "two")
            #expect(try await launch(["id": "another"]).value(for: key) == nil)
            await expectRefusal(StorageError.invalidName) { _ = try await launch([:]).value(for: key) }
        }

        @Test func `a golden store does not read the items`() async throws {
            try await store("secret of kari", "id", id)
            let releases = stage.directory.file("releases")
            let catalog = TestCatalog(.key(key))
            let configure: (inout StorageConfiguration) -> Void = { [stage, id] configuration in
                configuration.runtime.host.environment = stage.configuration.runtime.host.environment
                configuration.useImport(.keyringItems(["token": ["id": id]]), named: "keyring")
            }
            try await GoldenStore.record("1", of: catalog, in: releases, configure: configure) { (router) async throws in
                #expect(try await router.value(for: key) == nil)
            }
            #expect(try await GoldenStore.read("1", of: catalog, in: releases, configure: configure).isEmpty)
        }

        @Test func `an item does not move to a property list, which protects less`() async throws {
            try await store("secret of kari", "id", id)
            let plain = textKey("token", .userDefaults(suite: "plain")).moved(from: Self.old)
            await expectRefusal(StorageError.weakerProtection) { _ = try await launch(["id": id]).get(plain) }
        }
    }
#endif
