#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    @testable import Sealing

    /// Tests that neither the files nor printed texts reveal secrets.
    @Suite(.slow("goes through real files many times"), .inTurn) struct HygieneTests {
        private static let marker = "MARKER-zebra-0481-unmistakable"
        private static let metadata = StorageMetadata(
            serializer: "\(marker) serializer", typeTag: "\(marker) type", origin: Array("\(marker) origin".utf8),
            sealing: "\(marker) sealing",
            attributes: ["\(marker) attribute": "\(marker) text"])

        private let folder: TemporaryDirectory
        private let path: String
        private let keyFile: String

        init() throws {
            folder = try TemporaryDirectory()
            path = folder.file("store.sqlite")
            keyFile = try folder.folder("keys") + "/key"
        }

        /// Returns the content of every file of the database by name.
        /// Another process copies the files: closing a descriptor in this process would drop SQLite's locks.
        private func files() async throws -> [String: Data] {
            let copies = try folder.folder("copies \(UInt64.random(in: 0 ... .max))")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("store.sqlite") }
            #expect(try await run("cp", names.map { folder.file($0) } + [copies]).status == 0)
            var files: [String: Data] = [:]
            for name in names { files[name] = try Data(contentsOf: URL(filePath: "\(copies)/\(name)")) }
            return files
        }

        private func expectNowhere(_ secrets: [[UInt8]], _ files: [String: Data]) {
            for (name, contents) in files {
                for secret in secrets {
                    for (form, bytes) in forms(of: secret) where contents.range(of: bytes) != nil {
                        Issue.record("\(name) holds a secret, \(form)")
                    }
                }
            }
        }

        @Test func `no name, value, metadata or key is found in any file in any encoding`() async throws {
            let store = sqliteStore(at: path, keyFile: keyFile)
            let marker = Self.marker
            // The first two changes leave an empty log.
            // The later changes fill it, so that the search covers its content.
            #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("\(marker) removed"))).isApplied)
            #expect(try await store.apply(.tombstone(Self.metadata, at: StorageAddress("\(marker) removed"))).isApplied)
            for number in 0..<20 {
                let address = StorageAddress("\(marker) name \(number)", in: StorageNamespace(number % 2 == 0 ? "" : "\(marker) namespace"))
                #expect(try await store.apply(.put(.bytes(Array("\(marker) value".utf8)), Self.metadata, at: address)).isApplied)
            }
            let key = try SealingKey(text: String(contentsOfFile: keyFile, encoding: .utf8))
            let secrets = [Array(marker.utf8), Array(marker.dropFirst(7).utf8), key.key.withUnsafeBytes { Array($0) }]
            let open = try await files()
            #expect(Set(open.keys).isSuperset(of: ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite.lock"]))
            #expect((open["store.sqlite-wal"]?.count ?? 0) > 4_096)
            expectNowhere(secrets, open)
            await store.close()
            let closed = try await files()
            #expect(closed["store.sqlite-wal"]?.isEmpty != false)
            expectNowhere(secrets, closed)
            // Prove that the search works: it finds a text that the file has.
            #expect(forms(of: Array("header".utf8)).contains { closed["store.sqlite"]?.range(of: $0.bytes) != nil })
        }

        @Test(arguments: ["delete", "tombstone", "replace and close", "delete in a batch"])
        func `a removed or replaced value is found in no file, not even sealed`(_ how: String) async throws {
            let store = sqliteStore(at: path, keyFile: keyFile)
            let addresses = (0..<12).map { StorageAddress("name \($0)") }
            var sealed: [[UInt8]] = []
            for address in addresses {
                for size in [100, 5_000, 40] {
                    let payload = [UInt8](repeating: UInt8(size % 251), count: size)
                    #expect(try await store.apply(.put(.bytes(payload), at: address)).isApplied)
                }
                let revision = try #require(try await store.read(address).revision)
                sealed.append(try await sealedBytes(holding: revision.bytes))
            }
            let gone = sealed.prefix(6)
            for (number, address) in addresses.enumerated().prefix(6) {
                switch how {
                case "delete": #expect(try await store.apply(.delete(address)).isApplied)
                case "tombstone": #expect(try await store.apply(.tombstone(at: address)).isApplied)
                case "replace and close": #expect(try await store.apply(.put(.bytes([7]), at: address)).isApplied)
                default:
                    guard number == 0 else { continue }
                    #expect(try await store.apply(addresses.prefix(6).map { .delete($0) }).allSatisfy(\.isApplied))
                }
            }
            if how == "replace and close" { await store.close() }
            let files = try await files()
            for row in gone {
                // Search for parts that are too long to occur by chance.
                for start in stride(from: 0, to: row.count - 16, by: 16) {
                    let part = Data(row[start..<(start + 16)])
                    for (name, contents) in files { #expect(contents.range(of: part) == nil, "\(name) holds removed bytes (\(how))") }
                }
            }
            for row in sealed.suffix(6) { #expect(files["store.sqlite"]?.range(of: Data(row.prefix(60))) != nil) }
            await store.close()
        }

        /// Returns the sealed bytes of the row that begins with this nonce: nonce, ciphertext and tag.
        private func sealedBytes(holding nonce: [UInt8]) async throws -> [UInt8] {
            let rows = try AttackTarget.contents(of: path).rows
            return try #require(rows.map { Array($0.sealed.dropFirst(9)) }.first { $0.starts(with: nonce) })
        }

        @Test func `equal names and values have no stored bytes in common, in one database or in two`() async throws {
            let paths = [path, folder.file("second.sqlite")]
            for path in paths {
                let store = sqliteStore(at: path, keyFile: keyFile)
                for name in ["a", "b"] {
                    #expect(try await store.apply(.put(.bytes(Array("the same".utf8)), Self.metadata, at: StorageAddress(name))).isApplied)
                }
                await store.close()
            }
            let rows = try paths.flatMap { try AttackTarget.contents(of: $0).rows }
            #expect(rows.count == 4)
            var seen: Set<[UInt8]> = []
            // The versions of rows are random too.
            // No 12 successive bytes occur twice in the sealed bytes after the format and the key id.
            #expect(Set(rows.map(\.id)).count == 4 && Set(rows.map(\.slot)).count == 4 && Set(rows.map(\.version)).count == 4)
            #expect(Set(rows.map(\.sealed.count)).count == 1)
            for row in rows {
                let bytes = Array(row.sealed.dropFirst(9))
                for start in 0...(bytes.count - 12) { #expect(seen.insert(Array(bytes[start..<(start + 12)])).inserted) }
            }
        }

        // MARK: Files

        @Test(arguments: ["000", "022", "077"])
        func `files are private and no temporary file is left, for any umask`(_ mask: String) async throws {
            let place = folder.file("data/deep/er")
            let script = "umask \(mask); exec \"$0\" \"$@\""
            let result = try await run("sh", ["-c", script] + Program.worker("database", ["leak", place]))
            #expect(result.status == 0, "\(result.stderr)")
            let manager = FileManager.default
            var names: Set<String> = []
            for name in try manager.subpathsOfDirectory(atPath: folder.file("data")) {
                let attributes = try manager.attributesOfItem(atPath: folder.file("data/\(name)"))
                let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
                #expect(attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600), "\(name)")
                names.insert(name)
            }
            let files: Set = ["deep/er/data/store.sqlite", "deep/er/state/lock", "deep/er/keys/key"]
            #expect(names.isSuperset(of: files))
            #expect(
                names.subtracting(files).isSubset(of: [
                    "deep", "deep/er", "deep/er/data", "deep/er/state", "deep/er/keys", "deep/er/data/store.sqlite-wal",
                    "deep/er/data/store.sqlite-shm", "deep/er/data/store.sqlite-lock",
                ]))
        }

        // MARK: What is printed

        @Test func `printing, dumping or reflecting shows no value, hidden name or key`() async throws {
            let marker = Self.marker
            let keyBytes = Array(marker.utf8.prefix(32)) + [UInt8](repeating: 1, count: 32 - min(32, marker.utf8.count))
            let key = SealingKey(key: SymmetricKey(data: keyBytes))
            try writeFile(key.text + "\n", to: keyFile)
            let store = sqliteStore(at: path, keyFile: keyFile)
            let address = StorageAddress("name")
            let value = StorageMutation.put(.bytes(Array("\(marker) value".utf8)), StorageMetadata(serializer: "json"), at: address)
            #expect(try await store.apply(value).isApplied)
            let (database, tables) = try SealedDatabase(path: path, key: key).tables()
            let entry = tables.wraps[0]
            let keys = try KeyEncryptionKey(key, database: database)
            let data = try keys.unwrap(entry).withUnsafeBytes { Array($0) }
            let keyset = try Keyset.open(tables, database: database, formats: [1], kek: key)
            let probe = try await store.read(address)
            var things: [Any] = [
                store, keyset, keyset.active, keyset.active.sealing, keys, key, entry, probe, value, try await store.apply(value),
                KeyFileSource(path: keyFile, deadline: .seconds(1), runtime: .live), await store.status(),
                try await store.apply(.put(.bytes(Array(marker.utf8)), at: address, if: .absent)), StoragePayload.bytes(Array(marker.utf8)),
            ]
            // Also print damage, and the errors that a damaged row causes.
            try SealedDatabase(path: path, keyFile: keyFile).tamper(address) { $0[60] ^= 1 }
            things += [try await store.read(address), try await store.apply(value)] as [Any]
            do { things.append(try await store.addresses(in: .values)) } catch { things.append(error) }
            await store.close()
            for (number, thing) in things.enumerated() {
                var dumped = ""
                dump(thing, to: &dumped)
                let texts = [
                    "\(thing)", String(describing: thing), String(reflecting: thing), dumped,
                    "\(Array(Mirror(reflecting: thing).children))",
                ]
                for text in texts {
                    let bytes = Data(text.utf8)
                    for secret in [Array(marker.utf8), data] {
                        for (form, needle) in forms(of: secret) where bytes.range(of: needle) != nil {
                            Issue.record("thing \(number) (\(type(of: thing))) shows a secret, \(form)")
                        }
                        // Swift prints arrays of bytes in these two forms.
                        #expect(!text.contains(secret.prefix(8).map(String.init).joined(separator: ", ")), "thing \(number)")
                        #expect(!text.contains(secret.prefix(4).map { "- \($0)" }.joined(separator: "\n")), "thing \(number)")
                    }
                }
            }
        }

        // MARK: Nonces

        @Test func `nonces are unique, equal values are sealed differently, and lengths are those of size classes`() async throws {
            let groups = isLong ? 1_000 : 5
            let store = sqliteStore(at: path, keyFile: keyFile)
            let addresses = (0..<1_000).map { StorageAddress("name \($0)") }
            var nonces: Set<[UInt8]> = []
            var blocks: Set<Data> = []
            var lengths: Set<Int> = []
            let begin = SealedRowSizes.overhead
            for group in 0..<groups {
                // Every round stores the same payloads, of 1 byte to 2 KiB.
                let results = try await store.apply(
                    addresses.enumerated().map { .put(.bytes([UInt8](repeating: 9, count: $0 * 2 + 1)), at: $1) })
                for result in results {
                    guard case .applied(let revision?, .durable) = result else {
                        Issue.record("\(result)")
                        return
                    }
                    #expect(revision.bytes.count == 24)
                    nonces.insert(revision.bytes)
                }
                let rows = try AttackTarget.contents(of: path).rows
                #expect(rows.count == 1_000)
                for row in rows {
                    // The stored nonces are the revisions that the results reported.
                    if !nonces.contains(Array(row.sealed[9..<33])) { Issue.record("a stored nonce that no result reported") }
                    blocks.insert(row.sealed[33..<49])
                    lengths.insert(row.sealed.count)
                }
                #expect(nonces.count == (group + 1) * 1_000)
                #expect(blocks.count == (group + 1) * 1_000)
            }
            for length in lengths { #expect(SizeClass.padded(length - begin) == length - begin) }
            // The 1,000 different lengths belong to a few size classes.
            #expect(lengths.count < 20)
            print("nonces: \(nonces.count) writes, \(nonces.count) nonces, \(blocks.count) first blocks, \(lengths.count) sizes")
            await store.close()
        }

        private enum SealedRowSizes {
            static let overhead = 1 + 8 + 24 + 16
        }
    }

    /// The encodings in which a secret could be stored: plain, hexadecimal, base64 at each of its three alignments,
    /// UTF-16, and reversed.
    func forms(of secret: [UInt8]) -> [(form: String, bytes: Data)] {
        var forms: [(String, Data)] = [("as it is", Data(secret))]
        forms.append(("in hexadecimal", Data(hexadecimalText(of: secret).utf8)))
        forms.append(("in capital hexadecimal", Data(hexadecimalText(of: secret).uppercased().utf8)))
        for shift in 0..<3 {
            // The first and the last base64 group may also encode bits of neighbouring bytes.
            let text = Data([UInt8](repeating: 0, count: shift) + secret).base64EncodedString().dropFirst(4).dropLast(4)
            forms.append(("in base64, shifted by \(shift)", Data(text.utf8)))
        }
        forms.append(("in UTF-16, little-endian", Data(secret.flatMap { [$0, 0] })))
        forms.append(("in UTF-16, big-endian", Data(secret.flatMap { [0, $0] })))
        forms.append(("backwards", Data(secret.reversed())))
        return forms
    }
#endif
