#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of databases that one implementation writes and the other reads.
    /// The implementations are this library and the independent reader in Python.
    /// The golden database is a file of format 1 that never changes, and that every version must read.
    @Suite(.slow("goes through real files many times"), .inTurn) struct FormatTests {
        private let folder: TemporaryDirectory
        private let path: String
        private let keyFile: String

        init() throws {
            folder = try TemporaryDirectory()
            path = folder.file("golden.sqlite")
            keyFile = folder.file("golden.key")
        }

        private func store() -> SQLiteStore {
            sqliteStore(at: path, source: PinnedKeyFile(keyFile, pin: "golden"))
        }

        private func copyGolden() throws {
            try Reader.copy("golden-python.sqlite", to: path)
            try Reader.copy("golden.key", to: keyFile)
        }

        /// Expects these probes (results of reads) from the store, and a list of exactly the names that are not absent.
        private func expect(_ store: SQLiteStore, _ expected: [StorageAddress: StorageProbe]) async throws {
            let addresses = Array(expected.keys)
            let probes = try await store.probes(addresses)
            for (address, probe) in zip(addresses, probes) { #expect(probe == expected[address], "\(address)") }
            for namespace in Set(addresses.map(\.namespace)) {
                let list = try await store.addresses(in: namespace)
                let names = addresses.filter { $0.namespace == namespace && expected[$0] != .absent }
                #expect(Set(list) == Set(names) && list.count == names.count)
            }
        }

        @Test func `the library and the Python reader read every record of the golden database`() async throws {
            try copyGolden()
            let golden = try Reader.golden("golden-python.json")
            #expect(try await Reader.dump(path, keyFile) == golden)
            let store = store()
            let expected = try golden.probes
            #expect(expected.count >= 8)
            try await expect(store, expected)
            // No program can open rows of a destroyed key. They do not disturb other reads.
            #expect(try await store.read(StorageAddress("never written")) == .absent)
            await store.close()
            #expect(try await Reader.dump(path, keyFile) == golden)
        }

        @Test func `a store names the positions of values before they exist, and not before the database exists`() async throws {
            let store = store()
            let addresses = (0..<50).map { StorageAddress("name \($0)") }
            #expect(store.positions(of: addresses) == nil)
            for address in addresses { _ = try await store.apply(.put(.bytes([1]), at: address)) }
            let positions = try #require(store.positions(of: addresses))
            await store.close()
            let ids = try PlainDatabase(path: path).rows("SELECT id FROM records ORDER BY id").map { $0[0].integer }
            #expect(positions.sorted() == ids)
        }

        @Test(arguments: ["3fd095a765ef3897", "2e06ce93c640b5e0"])
        func `of two names whose row ids collide, either can be deleted and stored again, and the other one stays`(
            _ gone: String
        ) async throws {
            try copyGolden()
            var expected = try Reader.golden("golden-python.json").probes
            #expect(expected[StorageAddress(gone)] != nil)
            let store = store()
            #expect(try await store.apply(.delete(StorageAddress(gone))).isApplied)
            expected[StorageAddress(gone)] = .absent
            try await expect(store, expected)
            var dump = try await Reader.dump(path, keyFile)
            let left = dump.records.filter { $0.name == "3fd095a765ef3897" || $0.name == "2e06ce93c640b5e0" }
            #expect(left.map(\.pushedUp) == [0])
            // The other name still has the preferred row id. So the name that is stored again gets the next free id.
            #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress(gone))).isApplied)
            expected[StorageAddress(gone)] = try await store.read(StorageAddress(gone))
            try await expect(store, expected)
            dump = try await Reader.dump(path, keyFile)
            #expect(dump.records.first { $0.name == gone }?.pushedUp == 1)
            await store.close()
        }

        @Test func `a row under a key for decryption only is sealed with the active key when it is written again`() async throws {
            try copyGolden()
            var expected = try Reader.golden("golden-python.json").probes
            let store = store()
            let old = [StorageAddress("old value"), StorageAddress("old tombstone")]
            let before = try await Reader.dump(path, keyFile)
            #expect(
                before.records.filter { old.contains($0.address ?? StorageAddress("")) }.map(\.keyState) == [
                    "decrypt-only", "decrypt-only",
                ])
            let results = try await store.apply(old.map { .put(.bytes(Array("new".utf8)), at: $0) })
            #expect(results.map(\.isApplied) == [true, true])
            for (address, probe) in zip(old, try await store.probes(old)) { expected[address] = probe }
            try await expect(store, expected)
            let after = try await Reader.dump(path, keyFile)
            #expect(after.records.count == before.records.count)
            for record in before.records where old.contains(record.address ?? StorageAddress("")) {
                #expect(!after.records.contains { $0.slot == record.slot })
                let now = try #require(after.records.first { $0.name == record.name })
                #expect(now.keyState == "active" && now.version == (record.version ?? 0) + 1)
            }
            #expect(try after.probes == expected)
            await store.close()
        }

        // MARK: There and back

        @Test(arguments: [1, 2, 3] as [UInt64])
        func `the library reads and changes a database from Python, and Python reads it again`(_ seed: UInt64) async throws {
            var random = SeededGenerator(seed)
            let records = Self.randomRecords(60, &random)
            let input = String(decoding: try JSONEncoder().encode(records), as: UTF8.self)
            _ = try await Reader.run(
                ["make", path, keyFile, "--source", "golden", "--keys", "decrypt-only,active,destroyed,decrypt-only"], input: input)
            let made = try await Reader.dump(path, keyFile)
            var expected = try made.probes
            #expect(expected.count == records.count(where: { $0.key != "destroyed" }))
            for record in records where record.key != "destroyed" {
                let address = try #require(record.address)
                let probe = try #require(expected[address])
                #expect(try probe.record?.payload ?? .bytes([]) == .bytes(record.bytes))
            }
            let store = store()
            try await expect(store, expected)
            var addresses = Array(expected.keys).sorted { $0.description < $1.description }
            addresses += (0..<10).map { StorageAddress("new \($0)") }
            for round in 0..<4 {
                let chosen = addresses.filter { _ in random.next() % 3 == 0 }
                let mutations = chosen.map { address -> StorageMutation in
                    switch random.next() % 4 {
                    case 0: .delete(address)
                    case 1: .tombstone(Self.randomMetadata(&random), at: address)
                    default: .put(.bytes(Self.randomBytes(Int(random.next() % 3_000), &random)), Self.randomMetadata(&random), at: address)
                    }
                }
                let results = try await store.apply(mutations)
                #expect(results.allSatisfy { $0.isApplied })
                for (address, probe) in zip(chosen, try await store.probes(chosen)) { expected[address] = probe }
                for mutation in mutations { expectMade(mutation, expected[mutation.address]) }
                try await expect(store, expected)
                if round % 2 == 1 { await store.close() }
                let present = expected.filter { $0.value != .absent }
                let dump = try await Reader.dump(path, keyFile)
                #expect(try dump.probes == present)
                #expect(dump.records.filter { $0.name == nil } == made.records.filter { $0.name == nil })
            }
        }

        private func expectMade(_ mutation: StorageMutation, _ probe: StorageProbe?) {
            switch (mutation.operation, probe) {
            case (.delete, .absent): break
            case (.put(let payload, let metadata), .value(let record)): #expect(record.payload == payload && record.metadata == metadata)
            case (.tombstone(let metadata), .tombstone(let tombstone)): #expect(tombstone.metadata == metadata)
            default: Issue.record("\(mutation.operation) of \(mutation.address) gave \(String(describing: probe))")
            }
        }

        private static func randomBytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
            (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }

        private static func randomMetadata(_ random: inout SeededGenerator) -> StorageMetadata {
            var metadata = StorageMetadata()
            let bits = random.next()
            if bits & 1 != 0 { metadata.serializer = "json" }
            if bits & 2 != 0 { metadata.typeTag = "Größe<Int>" }
            if bits & 4 != 0 { metadata.schemaVersion = Int(truncatingIfNeeded: Int32(truncatingIfNeeded: bits >> 8)) }
            if bits & 8 != 0 { metadata.origin = randomBytes(Int(bits >> 16 & 63), &random) }
            if bits & 16 != 0 { metadata.createdAt = Double(bits >> 32) / 8 }
            if bits & 32 != 0 { metadata.expiresAt = -Double(bits >> 40) / 4 }
            if bits & 64 != 0 { metadata.attributes = ["a": "", "🗝": "日本 \(bits)", "long": String(repeating: "x", count: 200)] }
            return metadata
        }

        private static func randomRecords(_ count: Int, _ random: inout SeededGenerator) -> [DumpedRecord] {
            (0..<count).map { number in
                var record = DumpedRecord()
                record.name =
                    ["name \(number)", "é \(number)", "🗝/\(number)", String(repeating: "n", count: 900) + "\(number)"][
                        Int(random.next() % 4)]
                record.namespace = ["", "", "ledger", "日本"][Int(random.next() % 4)]
                record.kind = random.next() % 5 == 0 ? "tombstone" : "value"
                record.key = ["active", "active", "decrypt-only", "destroyed"][Int(random.next() % 4)]
                record.metadata = DumpedMetadata(randomMetadata(&random))
                if record.kind == "value" {
                    record.payload = Data(randomBytes(Int(random.next() % 5_000), &random)).base64EncodedString()
                }
                return record
            }
        }

        // MARK: What this implementation makes

        @Test func `the Python reader reads every record of a database that the library wrote`() async throws {
            try Reader.copy("golden.key", to: keyFile)
            let store = store()
            let everything = StorageMetadata(
                serializer: "json", typeTag: "Array<Int>", schemaVersion: -7, origin: Array("origin".utf8), sealing: "1:0011223344556677",
                createdAt: 1_700_000_000.25, modifiedAt: 1_795_212_290.5, expiresAt: 4_102_444_800,
                attributes: ["a": "first", "ä": "after ASCII"])
            let records: [StorageMutation] = [
                .put(.bytes(Array("\"Oslo\"".utf8)), StorageMetadata(serializer: "json"), at: StorageAddress("city")),
                .put(.bytes([]), at: StorageAddress("empty")),
                .put(.bytes(Array("[1,2,3]".utf8)), everything, at: StorageAddress("all metadata")),
                .put(.bytes((0..<5_000).map { UInt8(truncatingIfNeeded: $0) }), at: StorageAddress("five thousand")),
                .put(.bytes(Array("\"æøå\"".utf8)), at: StorageAddress("Grüße/日本 🗝")),
                .put(.bytes([1]), at: StorageAddress("city", in: StorageNamespace("ledger"))),
                .put(.bytes([0]), at: StorageAddress(String(repeating: "n", count: 1_024))),
                .put(.bytes([1]), at: StorageAddress("changed")), .put(.bytes([1]), at: StorageAddress("deleted")),
                .put(.bytes([1]), at: StorageAddress("removed")),
            ]
            for record in records { #expect(try await store.apply(record).isApplied) }
            let changes: [StorageMutation] = [
                .put(.bytes([2]), at: StorageAddress("changed")), .delete(StorageAddress("deleted")),
                .tombstone(everything, at: StorageAddress("removed")),
            ]
            let results = try await store.apply(changes)
            #expect(results.allSatisfy { $0.isApplied })
            // The last mutation of each name determines the expected probe. The store chooses the revisions.
            let addresses = records.map(\.address)
            var expected: [StorageAddress: StorageProbe] = [:]
            for (address, probe) in zip(addresses, try await store.probes(addresses)) {
                expectMade(try #require((records + changes).last { $0.address == address }), probe)
                if probe != .absent { expected[address] = probe }
            }
            #expect(expected.count == records.count - 1)
            #expect(try await Reader.dump(path, keyFile).probes == expected)
            await store.close()
            #expect(try await Reader.dump(path, keyFile).probes == expected)
        }
    }
#endif
