#if SQLite
    import BackendContract
    import Crypto
    import Foundation
    import TestSupport
    import Testing

    @testable import SQLiteBackend
    @testable import Sealing

    /// Tests every step of the format against vectors, inputs with their expected outputs.
    /// The independent reader made them.
    /// A label is a keyed hash of an attribute, by which a query finds rows without decrypting them.
    /// A term is a keyed hash of a row, or of an entry of a label. The sealed state has the sum of the terms of all rows.
    /// A count has the sum of the terms of one label.
    @Suite(.inTurn) struct VectorTests {
        private struct Vectors: Decodable {
            struct Kek: Decodable { let id, key, text, wrappingKey, verifier: String }
            struct Key: Decodable {
                let key: String
                let state: UInt8
                let data, sealingKey, indexingKey, integrityKey: String
            }
            struct Wrap: Decodable { let key, recipient, source, nonce, associated, verifier, wrapped: String }
            struct Header: Decodable { let context, features, formats, tagInput, tag: String }
            struct Record: Decodable {
                let key, kind, namespace, name, payload, revision, slot, nonce, associated, plaintext, sealed: String
                let id, version: Int64
                let metadata: DumpedMetadata
            }
            struct Size: Decodable { let content, plaintext: Int }
            let database: String
            let keks: [Kek]
            let keys: [Key]
            let wraps: [Wrap]
            let header: Header
            struct LabelVector: Decodable {
                let namespace, label, count, nonce, associated, sealed, days, hiddenDay: String
                let attribute, slots, terms: [String]
                let day: Int64
            }
            let label: LabelVector
            struct StateVector: Decodable {
                let commits: Int64
                let terms: [String]
                let plaintext, nonce, associated, sealed: String
            }
            let state: StateVector
            let records: [Record]
            let sizes: [Size]
            struct Unindexed: Decodable {
                let metadata: DumpedMetadata
                let encoded, label: String
            }
            let unindexed: Unindexed
        }

        private let vectors: Vectors
        private let database: [UInt8]
        private let keks: [SealingKey]

        init() throws {
            vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: URL(filePath: Reader.folder + "/vectors.json")))
            database = try hex(vectors.database)
            keks = try vectors.keks.map { try SealingKey(text: $0.text) }
        }

        @Test func `the key-encryption key matches the vectors`() throws {
            for (kek, vector) in zip(keks, vectors.keks) {
                #expect(hexadecimalText(of: kek.id) == vector.id)
                #expect(kek.text + "\n" == vector.text)
                #expect(kek.key == SymmetricKey(data: try hex(vector.key)))
                #expect(try KeyEncryptionKey(kek, database: database).verifier == hex(vector.verifier))
            }
        }

        @Test func `wrapping and unwrapping data keys, and the keys derived from them, match the vectors`() throws {
            for vector in vectors.wraps {
                let number = try #require(vectors.keks.firstIndex { $0.id == vector.recipient })
                let data = try #require(vectors.keys.first { $0.key == vector.key }).data
                let wrapping = try XAES256GCM(key: SymmetricKey(data: try hex(vectors.keks[number].wrappingKey)))
                let sealed = try wrapping.seal(hex(data), nonce: try hex(vector.nonce), authenticating: try hex(vector.associated))
                #expect(hexadecimalText(of: try hex(vector.nonce) + sealed) == vector.wrapped)
                let keys = try KeyEncryptionKey(keks[number], database: database)
                let key = SymmetricKey(data: try hex(data))
                let nonce = try hex(vector.nonce)
                let wrap = try keys.wrap(key, source: vector.source) { _ in nonce }
                #expect(try wrap == self.wrap(vector))
                #expect(try keys.unwrap(wrap) == key)
            }
            for vector in vectors.keys {
                // The derived keys are hidden. Compare the results that they produce.
                let key = try DataKey(key: SymmetricKey(data: try hex(vector.data)), database: database)
                #expect(hexadecimalText(of: key.id) == vector.key)
                let nonce = [UInt8](repeating: 3, count: 24)
                let byHand = try XAES256GCM(key: SymmetricKey(data: try hex(vector.sealingKey)))
                #expect(
                    try key.sealing.seal([1, 2, 3], nonce: nonce, authenticating: [])
                        == byHand.seal([1, 2, 3], nonce: nonce, authenticating: []))
                let integrity = SymmetricKey(data: try hex(vector.integrityKey))
                let fields = Fields("any purpose")
                #expect(key.tag(fields) == Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: integrity)))
                let indexing = SymmetricKey(data: try hex(vector.indexingKey))
                var name = Fields("LocalData SQLite 1 slot")
                for part in ["records", "a", "b"] { name.add(part) }
                #expect(
                    key.slot(of: StorageAddress("b", in: StorageNamespace("a")), table: "records")
                        == Array(HMAC<SHA256>.authenticationCode(for: name.bytes, using: indexing).prefix(16)))
            }
        }

        private func wrap(_ vector: Vectors.Wrap) throws -> KeyTables.Wrap {
            KeyTables.Wrap(
                key: try hex(vector.key), recipient: try hex(vector.recipient), source: vector.source, verifier: try hex(vector.verifier),
                wrapped: try hex(vector.wrapped))
        }

        /// The tables of keys, with their rows in the order of the vectors or reversed.
        private func tables(reversed: Bool = false) throws -> KeyTables {
            let keys = try vectors.keys.map {
                KeyTables.Key(id: try hex($0.key), state: try #require(KeyTables.State(rawValue: $0.state)))
            }
            let wraps = try vectors.wraps.map(wrap)
            return try KeyTables(keys: reversed ? keys.reversed() : keys, wraps: reversed ? wraps.reversed() : wraps)
        }

        private func keyset(_ kek: SealingKey) throws -> Keyset {
            try Keyset.open(tables(), database: database, formats: [SealedRow.format], kek: kek)
        }

        @Test func `the tag of the header matches the vectors in any order of rows and for every recipient`() throws {
            let context = try StoreContext(bytes: hex(vectors.header.context))
            for kek in keks {
                let keyset = try keyset(kek)
                let header = DatabaseHeader(
                    database: database, context: context, features: try DatabaseFeature.features(hex(vectors.header.features)),
                    formats: try hex(vectors.header.formats), keys: try tables(reversed: true), tagged: keyset)
                #expect(hexadecimalText(of: header.tag) == vectors.header.tag)
                #expect(header.entries.first { $0.name == "features" }?.value == (try hex(vectors.header.features)))
                #expect(hexadecimalText(of: keyset.tag(header: header.entries.reversed(), tables: header.keys)) == vectors.header.tag)
            }
            let integrity = SymmetricKey(data: try hex(vectors.keys[0].integrityKey))
            let tag = HMAC<SHA256>.authenticationCode(for: try hex(vectors.header.tagInput), using: integrity)
            #expect(hexadecimalText(of: tag) == vectors.header.tag)
        }

        @Test func `slots, ids, plaintexts and sealed rows match the vectors`() throws {
            let keyset = try keyset(keks[0])
            for vector in vectors.records {
                let key = try #require(try hex(vector.key).withUnsafeBytes { keyset.key($0) })
                let address = StorageAddress(vector.name, in: StorageNamespace(vector.namespace))
                let slot = key.slot(of: address, table: DatabaseFormat.table)
                #expect(hexadecimalText(of: slot) == vector.slot)
                #expect(RowFinder.home(of: slot) == vector.id)
                #expect(
                    hexadecimalText(of: slot.withUnsafeBytes { SealedRow.context(slot: $0, version: vector.version, key: key) })
                        == vector.associated)
                let payload = Array(try #require(Data(base64Encoded: vector.payload)))
                var content = RowContent(
                    address, vector.kind == "value" ? .value : .tombstone, try vector.metadata.metadata, payload: payload)
                if vector.revision != vector.nonce { content.keptRevision = StorageRevision(try hex(vector.revision)) }
                #expect(hexadecimalText(of: content.padded()) == vector.plaintext)
                let nonce = try hex(vector.nonce)
                let sealed = try SealedRow.seal(content, slot: slot, version: vector.version, with: key) { _ in nonce }
                #expect(hexadecimalText(of: sealed) == vector.sealed)
                let opened = try RowContent(padded: try hex(vector.plaintext))
                #expect(opened.address == address && opened.kind == content.kind && opened.payload == payload)
                #expect(opened.metadata == content.metadata && opened.keptRevision == content.keptRevision)
                let raw = slot.withUnsafeBytes { slot in
                    sealed.withUnsafeBytes { RawRow(slot: slot, version: vector.version, sealed: $0).open(keyset) }
                }
                guard case .content(_, let revision) = raw else {
                    Issue.record("\(vector.name) does not open")
                    continue
                }
                #expect(hexadecimalText(of: revision.bytes) == vector.revision)
            }
            #expect(vectors.records.contains { $0.revision != $0.nonce })
        }

        @Test func `labels, their sealed counts, and the days that are hidden under a label match the vectors`() throws {
            let (vector, key) = (vectors.label, try keyset(keks[0]).active)
            let namespace = StorageNamespace(vector.namespace)
            let label = key.label(of: Label.attribute(vector.attribute[0], vector.attribute[1], namespace).fields)
            #expect(hexadecimalText(of: label) == vector.label)
            var count = CountedSum()
            for (slot, term) in zip(vector.slots, vector.terms) {
                let own = key.term(of: try hex(slot), under: label)
                #expect(hexadecimalText(of: own) == term)
                count.add(own)
            }
            #expect(hexadecimalText(of: count.bytes) == vector.count)
            let nonce = try hex(vector.nonce)
            #expect(hexadecimalText(of: try key.seal(count, of: label) { _ in nonce }) == vector.sealed)
            #expect(key.openCount(try hex(vector.sealed), of: label) == count)
            for term in vector.terms.reversed() { count.remove(try hex(term)) }
            #expect(count.isNone)
            let days = key.label(of: Label.days(namespace).fields)
            #expect(hexadecimalText(of: days) == vector.days)
            #expect(hexadecimalText(of: key.hiddenDay(vector.day, under: days)) == vector.hiddenDay)
        }

        @Test func `the terms of rows and the sealed state match the vectors`() throws {
            let (vector, keyset) = (vectors.state, try keyset(keks[0]))
            var state = CommitState()
            (state.commits, state.isAnchored, state.header) = (vector.commits, true, try hex(vectors.header.tag))
            for (record, term) in zip(vectors.records, vector.terms) {
                let own = try hex(record.slot).withUnsafeBytes { slot in
                    try hex(record.sealed).withUnsafeBytes { RawRow(slot: slot, version: record.version, sealed: $0).term(keyset) }
                }
                #expect(own.map { hexadecimalText(of: $0) } == term)
                state.rows.add(try #require(own))
            }
            #expect(hexadecimalText(of: state.bytes) == vector.plaintext)
            let nonce = try hex(vector.nonce)
            #expect(hexadecimalText(of: try keyset.active.seal(state) { _ in nonce }) == vector.sealed)
            #expect(keyset.active.openState(try hex(vector.sealed)) == state)
            #expect(keyset.decryptOnly.allSatisfy { $0.openState(Array(vector.sealed.utf8)) == nil })
            for record in vectors.records {
                let term = try hex(record.slot).withUnsafeBytes { slot in
                    try hex(record.sealed).withUnsafeBytes { RawRow(slot: slot, version: record.version, sealed: $0).term(keyset) }
                }
                state.rows.remove(try #require(term))
            }
            #expect(state.rows.isNone)
        }

        @Test func `a plaintext with any other encoding than that of the format is damaged`() throws {
            let value = RowContent(StorageAddress("name"), .value, StorageMetadata(), payload: [1])
            let tombstone = RowContent(StorageAddress("name"), .tombstone, StorageMetadata(), payload: [1])
            #expect(try RowContent(padded: value.padded()).payload == [1])
            var filled = value.padded()
            filled[filled.count - 1] = 1
            #expect(throws: RecordDamage.self) { try RowContent(padded: filled) }
            for bit: UInt8 in [0x08, 0x10, 0x20, 0x40] {
                var unknown = value.padded()
                unknown[4] |= bit
                #expect(throws: RecordDamage.self) { try RowContent(padded: unknown) }
            }
            #expect(throws: RecordDamage.self) { try RowContent(padded: tombstone.padded()) }
        }

        @Test func `contents are padded to the sizes of the vectors`() {
            for size in vectors.sizes { #expect(SizeClass.padded(size.content + 4) == size.plaintext) }
        }

        @Test func `the metadata of a value without attribute labels, and the label that its row has instead, match the vectors`() throws {
            let (vector, key) = (vectors.unindexed, try keyset(keks[0]).active)
            let metadata = try vector.metadata.metadata
            #expect(!metadata.indexesAttributes)
            #expect(hexadecimalText(of: RecordCodec.encodeMetadata(metadata)) == vector.encoded)
            let labels = Label.labels(of: metadata, StorageNamespace("ledger")).map { hexadecimalText(of: key.label(of: $0.fields)) }
            #expect(labels.count == 3 && labels.contains(vector.label))
        }

        @Test func `the schema matches the documentation and the independent reader word for word`() async throws {
            let root = URL(filePath: Reader.folder).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            let design = try String(contentsOf: root.appending(path: "Docs/Formats.md"), encoding: .utf8)
            let statements = DatabaseFormat.schema + DatabaseFeature.labels.tables
            // The tables of a database server are in a schema.
            let documented = design.split(separator: "\n").filter {
                $0.hasPrefix("CREATE TABLE ") && !$0.contains(" localdata.")
            }
            #expect(documented.map(String.init) == statements)
            let script =
                "import sys; sys.path.insert(0, sys.argv[1]); import reader; print('\\n'.join([*reader.SCHEMA.values(), reader.LABELS, reader.COUNTS]))"
            let result = try await run("/usr/bin/python3", ["-B", "-c", script, Reader.folder])
            #expect(result.status == 0, "\(result.stderr) (apt-get install -y --no-install-recommends python3-cryptography)")
            #expect(result.stdout.split(separator: "\n").map(String.init) == statements)
        }
    }

    private func hex(_ text: String) throws -> [UInt8] { try #require(bytes(ofHexadecimal: text)) }
#endif
