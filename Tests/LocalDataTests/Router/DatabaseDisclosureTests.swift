#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import Logging
    import Synchronization
    import TestSupport
    import Testing

    /// No value, key or passphrase of a database or vault appears in text that is printed, dumped, logged, reported or
    /// thrown. A vault is an encrypted database that replaces the keyring.
    @Suite(.inTurn) struct DatabaseDisclosureTests {
        let secret = "correct-horse-battery-staple"
        let passphrase = "open sesame, said nobody"
        let key = textKey("a", .encryptedSQLite(database: "main"))
        let token = textKey("token", .keychain)
        let paper = textKey("paper", .encryptedSQLite(database: "papers"))

        private func launch(_ stage: Stage, _ printed: Printed, passphrase: String? = nil) -> StorageRouter {
            let given = passphrase ?? self.passphrase
            return stage.launch {
                $0.keychain = .sealedVault(.keyFile("vault-key"))
                $0.databaseKeySources["papers"] = .passphrase()
                $0.passphrase = { _ in given }
                $0.logger = Logger(label: "LocalData") { _ in PrintedLog(printed: printed) }
                printed.note($0)
            }
        }

        /// Expects an error with a code and records how the error is printed.
        private func note(_ code: StorageError.Code, in printed: Printed, body: () async throws -> Void) async {
            guard let error = await expectRefusal(code, isSentence: false, body: body) else { return }
            printed.note(error)
            if let underlying = error.underlying { printed.note(underlying) }
        }

        @Test func `the search finds a secret that is printed, as text or as bytes in any form`() {
            for holder in [
                secret as Any, Array(secret.utf8), ["x": [Data(secret.utf8)]], hexadecimalText(of: secret.utf8),
            ] {
                let printed = Printed()
                printed.note(holder)
                #expect(!printed.traces(of: Data(secret.utf8)).isEmpty, "\(type(of: holder))")
                #expect(printed.traces(of: Data(passphrase.utf8)).isEmpty)
            }
        }

        @Test(.timeLimit(.minutes(10))) func `operations that succeed print no secret`() async throws {
            let (stage, printed) = (try Stage(), Printed())
            let router = launch(stage, printed)
            let old = textKey("old", .userDefaults(suite: "legacy"), .none)
            let keys = [key.moved(from: old), token, paper]
            for key in keys { try await router.set("\(secret) of \(key.name)", for: key) }
            for key in keys { #expect(try await router.get(key).hasPrefix(secret)) }
            try await router.update(key) { $0?.append("!") }
            try await router.batch { $0.set("\(secret) of a", for: key) }
            printed.note(try await router.registerCatalog(TestCatalog(keys.map { .key($0) })))
            // A conflict. The losing value goes into quarantine.
            try await router.set("\(secret) from an old program", for: old)
            printed.note(await router.planSweep())
            let report = await router.sweep()
            #expect(report.rows.contains { $0.state == .resolved })
            printed.note(report)
            printed.note(try JSONEncoder().encode(report))
            let audit = try await router.audit()
            #expect(audit.quarantine.count == 1)
            printed.note(audit)
            printed.note(try JSONEncoder().encode(audit))
            for key in keys { printed.note(await router.status(of: key.domain)) }
            for key in keys { printed.note(key) }
            printed.note(router)
            try await expectNoTrace(stage, printed)
            try await router.shutdown()
            printed.note(router)
            try await expectNoTrace(stage, printed)
        }

        @Test(.timeLimit(.minutes(10))) func `operations that fail print no secret`() async throws {
            let (stage, printed) = (try Stage(), Printed())
            let first = launch(stage, printed)
            for key in [key, token, paper] { try await first.set(secret, for: key) }

            let number = testKey("a", key.domain, of: Int.self)
            await note(StorageError.undecodable, in: printed) { _ = try await first.get(number) }
            let moved = testKey("number", paper.domain, of: Int.self).moved(from: key) {
                guard let number = Int($0) else { throw StorageError(StorageError.migrationFailed, key: "number", "Not a number.") }
                return number
            }
            await note(StorageError.migrationFailed, in: printed) { _ = try await first.get(moved) }
            printed.note(await first.sweep(TestCatalog([.key(moved)])))
            await note(StorageError.tooLarge, in: printed) { try await first.set(String(repeating: secret, count: 600_000), for: key) }
            await note(StorageError.unsupported, in: printed) {
                try await first.batch { batch in
                    batch.set(secret, for: key)
                    batch.set(secret, for: paper)
                }
            }
            await note(StorageError.weakerProtection, in: printed) {
                try await first.registerCatalog(TestCatalog([.key(token)], minimum: .keychain))
            }
            try await first.shutdown()

            let keyFile = stage.root.path + "/data/sealing-key"
            let database = try SealedDatabase(path: stage.path(ofDatabase: "main"), keyFile: keyFile)
            try database.tamper(StorageAddress("a")) { $0[$0.count / 2] ^= 1 }
            let damaged = launch(stage, printed)
            await note(StorageError.corrupted, in: printed) { _ = try await damaged.get(key) }
            printed.note(await damaged.sweep(TestCatalog(.key(key))))
            try await damaged.shutdown()

            // First the passphrase is wrong, and later the key file contains a passphrase. No error may repeat a
            // passphrase.
            await note(StorageError.encryptionKeyMismatch, in: printed) {
                _ = try await launch(stage, printed, passphrase: "\(passphrase), twice").get(paper)
            }
            let keys = try keyTexts(stage)
            try Data("\(passphrase)\n".utf8).write(to: URL(fileURLWithPath: keyFile))
            await note(StorageError.encryptionKeyMismatch, in: printed) { try await launch(stage, printed).set(secret, for: key) }
            try FileManager.default.removeItem(atPath: keyFile)
            let without = launch(stage, printed)
            await note(StorageError.encryptionKeyMissing, in: printed) { try await without.set(secret, for: key) }
            printed.note(await without.status(of: key.domain))
            printed.note(await without.sweep(TestCatalog(.key(key))))
            try await expectNoTrace(stage, printed, keys)
        }

        private func keyTexts(_ stage: Stage) throws -> [String] {
            try ["sealing-key", "vault-key"].map { try String(contentsOfFile: stage.root.path + "/data/\($0)", encoding: .utf8) }
        }

        private func expectNoTrace(_ stage: Stage, _ printed: Printed, _ keys: [String]? = nil) async throws {
            var needles = [Data(secret.utf8), Data(passphrase.utf8)]
            for text in try keys ?? keyTexts(stage) {
                // Search for the bytes of the key. The id in the key file may be printed.
                let last = try #require(text.split(whereSeparator: \.isWhitespace).last)
                needles.append(try #require(Data(base64Encoded: String(last))))
            }
            for (index, needle) in needles.enumerated() {
                #expect(printed.traces(of: needle).isEmpty, "needle \(index): \(printed.traces(of: needle).prefix(3))")
            }
            #expect(printed.count > 10)
        }
    }

    /// Records every printed form of the values that a test gives it.
    private final class Printed: Sendable {
        private let texts = Mutex<[String]>([])

        var count: Int { texts.withLock(\.count) }

        func note(_ holder: Any) {
            var dumped = ""
            dump(holder, to: &dumped)
            let data = (holder as? Data).map { String(decoding: $0, as: UTF8.self) }
            let all = ["\(holder)", String(reflecting: holder), (holder as? any Error)?.localizedDescription, data, dumped]
            texts.withLock { $0 += all.compactMap(\.self) }
        }

        /// Returns the beginnings of the recorded texts that contain a secret.
        ///
        /// The search finds it as text, in hexadecimal, in base64, and as a list of numbers in any layout.
        func traces(of secret: Data) -> [String] {
            let numbers = secret.prefix(8).map { "\($0)" }.joined()
            let forms = [
                String(decoding: secret, as: UTF8.self), hexadecimalText(of: secret),
                String(secret.base64EncodedString().dropLast(4)),
            ]
            return texts.withLock { texts in
                texts.filter { text in
                    forms.contains { text.localizedCaseInsensitiveContains($0) } || text.filter(\.isNumber).contains(numbers)
                }
            }.map { String($0.prefix(300)) }
        }
    }

    /// A log handler that records every message.
    private struct PrintedLog: LogHandler {
        let printed: Printed
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { printed.note("\(event.message) \(event.metadata ?? [:])") }
    }
#endif
