#if SQLite
    import BackendContract
    import Foundation
    import GuideSamples
    import LocalData
    import LocalDataBackup
    import Synchronization
    import TestSupport
    import Testing

    /// A key source provides the sealing key, which protects databases and single encrypted values. A program can
    /// implement one with the protocol `CustomKeySource`.
    @Suite(.inTurn) struct CustomKeySourceTests {
        /// A key source whose key and errors the test controls.
        private final class Shelf: CustomKeySource {
            let protection: ProtectionLevel
            let key = Mutex<SealingKeyMaterial?>(nil)
            let failure = Mutex<(any Error)?>(nil)
            let loads = Mutex(0)

            init(_ protection: ProtectionLevel = .keychain) { self.protection = protection }

            func load() async throws -> SealingKeyMaterial? {
                loads.withLock { $0 += 1 }
                if let failure = failure.withLock({ $0 }) { throw failure }
                return key.withLock { $0 }
            }

            func create(_ new: SealingKeyMaterial) async throws -> SealingKeyMaterial {
                key.withLock { key in
                    if let key { return key }
                    key = new
                    return new
                }
            }
        }

        private let stage: Stage
        private let row = textKey("a", .encryptedSQLite(database: "main"))
        private let sealed = textKey("b", .userDefaults(suite: "list"), .encrypted(.custom("shelf")))

        init() throws { stage = try Stage() }

        private func launch(_ sources: [String: any CustomKeySource], _ name: String = "shelf") -> StorageRouter {
            stage.launch {
                $0.customKeySources = sources
                $0.databaseKeySources["main"] = .custom(name)
            }
        }

        private func code(_ router: StorageRouter, _ key: StorageKey<String>) async -> StorageError.Code? {
            do {
                _ = try await router.get(key)
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        @Test func `databases and sealed values open with the key of a custom key source`() async throws {
            let shelf = Shelf()
            let router = launch(["shelf": shelf])
            try await router.set("row", for: row)
            try await router.set("sealed", for: sealed)
            #expect(try await router.keyRecipients(of: row.domain).map(\.source) == ["custom shelf"])
            try await router.shutdown()
            #expect(shelf.loads.withLock { $0 } <= 2)
            let again = launch(["shelf": shelf])
            #expect(try await again.get(row) == "row")
            #expect(try await again.get(sealed) == "sealed")
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data/sealing-key"))
            let audit = try await again.audit()
            #expect(audit.quarantine.isEmpty)
        }

        @Test func `an error of a key source is thrown without its content, and no new key is created beside sealed data`() async throws {
            struct Refusal: Error { let words = "hunter2" }
            let shelf = Shelf()
            let first = launch(["shelf": shelf])
            try await first.set("row", for: row)
            try await first.shutdown()
            let made = shelf.key.withLock { $0 }
            let key = try #require(made)
            for (failure, expected) in [
                (Refusal() as any Error, StorageError.unavailable), (BackendError(.locked, "The shelf is locked."), StorageError.locked),
                (BackendError(.accessDenied, "The shelf is private."), StorageError.accessDenied),
            ] {
                shelf.failure.withLock { $0 = failure }
                let error = await #expect(throws: StorageError.self) { _ = try await launch(["shelf": shelf]).get(row) }
                #expect(error?.code == expected, "\(String(describing: error))")
                #expect(error.map { "\($0)".contains("hunter2") } == false)
            }
            shelf.failure.withLock { $0 = nil }
            shelf.key.withLock { $0 = nil }
            #expect(await code(launch(["shelf": shelf]), row) == StorageError.encryptionKeyMissing)
            await #expect(throws: StorageError.self) { try await launch(["shelf": shelf]).set("lost", for: row) }
            #expect(shelf.key.withLock { $0 == nil })
            shelf.key.withLock { $0 = try? SealingKeyMaterial(bytes: [UInt8](repeating: 7, count: 32)) }
            #expect(await code(launch(["shelf": shelf]), row) == StorageError.encryptionKeyMismatch)
            shelf.key.withLock { $0 = key }
            #expect(try await launch(["shelf": shelf]).get(row) == "row")
            // The database records the name of its source, so a source with another name does not open it.
            #expect(await code(launch(["other": shelf], "other"), row) == StorageError.encryptionKeyMismatch)
        }

        @Test func `an invalid or unregistered source name is refused, and key material is not printed`() async throws {
            for name in ["recovery key", "", "a\nb", String(repeating: "x", count: 201)] {
                #expect(await code(launch([name: Shelf()], name), row) == StorageError.invalidName, "\(name)")
            }
            #expect(await code(launch([:]), row) == StorageError.unavailable)
            #expect(throws: StorageError.self) { try SealingKeyMaterial(bytes: [UInt8](repeating: 0, count: 31)) }
            let material = try SealingKeyMaterial(bytes: [UInt8](repeating: 0xA7, count: 32))
            var text = "\(material)"
            dump(material, to: &text)
            #expect(!text.contains("p6enp6en") && !text.contains("a7a7a7a7") && !text.contains("167"))
            #expect(material.withBytes { Array($0) } == [UInt8](repeating: 0xA7, count: 32))
        }

        // MARK: A service

        /// A key service on the loopback interface. It stores keys for callers that send the token, and refuses all
        /// others.
        private static let server = """
            import http.server, sys
            class Service(http.server.BaseHTTPRequestHandler):
                keys = {}
                def answer(self, status, content=b""):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                def trusted(self):
                    return self.headers.get("Authorization") == "Bearer " + sys.argv[1]
                def do_GET(self):
                    if not self.trusted(): return self.answer(403)
                    key = self.keys.get(self.path)
                    self.answer(404) if key is None else self.answer(200, key)
                def do_PUT(self):
                    content = self.rfile.read(int(self.headers["Content-Length"]))
                    if not self.trusted(): return self.answer(403)
                    if self.path in self.keys: return self.answer(412)
                    self.keys[self.path] = content
                    self.answer(201)
                def log_message(self, *arguments): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Service)
            print(server.server_address[1], flush=True)
            server.serve_forever()
            """

        @Test func `a database opens with a key from an HTTP service, and does not open without the service or its token`() async throws {
            let token = "token-\(UInt64.random(in: 1 ... .max))"
            let service = try RunningProgram("/usr/bin/python3", ["-c", Self.server, token])
            let port = try #require(Int(try await service.line()))
            let url = try #require(URL(string: "http://127.0.0.1:\(port)/keys/documents"))
            func open(_ token: String) -> StorageRouter { launch(["kms": KeyService(key: url) { token }], "kms") }
            let router = open(token)
            try await router.set("row", for: row)
            try await router.shutdown()
            #expect(try await open(token).get(row) == "row")
            #expect(await code(open("another"), row) == StorageError.accessDenied)
            _ = await service.kill()
            #expect(await code(open(token), row) == StorageError.unavailable)
        }
    }
#endif
