#if SQLite
    @testable import BackendContract
    import Crypto
    import Synchronization

    @testable import SQLiteBackend
    @testable import Sealing

    /// Rows, headers and keysets of a database, as SQLite hands them over.
    extension FuzzTarget {
        static let databases: [FuzzTarget] =
            [
                FuzzTarget(name: "rows", seeds: { DatabaseSeeds.rows.map(\.bytes) }) { (bytes) throws(BrokenPromise) in
                    let row = StoredRow(bytes)
                    switch try steady(bytes, { DatabaseSeeds.open(StoredRow($0)) }) {
                    case .content: try promise(DatabaseSeeds.rows.contains(row), "something opens that was never sealed")
                    case .damaged(let sealed):
                        let expected = row.strange & 4 == 0 ? row.sealed : []
                        try promise(sealed == expected, "damaged bytes are not kept as they stand")
                    case .destroyed: try promise(row.keyID == DatabaseSeeds.destroyed, "a key is called destroyed that is not")
                    case .unknownKey(let id):
                        try promise(id == row.keyID && !DatabaseSeeds.keyIDs.contains(id), "a key is called unknown that is not")
                    case .refused(let code):
                        try promise(
                            code == .unsupported && row.sealed.first != SealedRow.format, "a row of this format is called unsupported")
                    }
                },
                FuzzTarget(name: "row-contents", seeds: { DatabaseSeeds.contents }) { (bytes) throws(BrokenPromise) in
                    // What stands inside a valid seal: whatever the input is, or a content in its size class, or one that was made of the input.
                    var dice = Dice(bytes)
                    switch dice.number(below: 3) {
                    case 0: try checkContent(dice.remainder())
                    case 1: try checkContent(DatabaseSeeds.padded(dice.remainder()))
                    default:
                        let address = StorageAddress(dice.text(), in: StorageNamespace(dice.text()))
                        let kind = dice.flag() ? RowContent.Kind.value : .tombstone
                        let metadata = dice.metadata()
                        let content = RowContent(address, kind, metadata, payload: kind == .value ? dice.remainder() : [])
                        try promise(try checkContent(content.padded()), "a row does not come back")
                    }
                },
            ] + headers

        /// Seals a plaintext, and opens it as the store does. Returns whether there was a content in it.
        @discardableResult
        private static func checkContent(_ plain: [UInt8]) throws(BrokenPromise) -> Bool {
            guard let row = DatabaseSeeds.row(plain) else { throw BrokenPromise(description: "a plaintext is not sealed") }
            switch DatabaseSeeds.open(row) {
            case .content(let again):
                try promise(again == plain, "there are two ways to write a row")
                return true
            case .damaged(let sealed):
                try promise(sealed == row.sealed, "damaged bytes are not kept as they stand")
                return false
            default: throw BrokenPromise(description: "a row with a whole seal is neither a content nor damaged")
            }
        }
    }

    /// A row as an input: its version, its slot, and the rest sealed; or something that is no row at all.
    struct StoredRow: Hashable {
        var version: Int64
        var slot: [UInt8]
        var sealed: [UInt8]
        /// Which columns hold something else than they should.
        var strange: UInt8

        init(version: Int64, slot: [UInt8], sealed: [UInt8]) {
            (self.version, self.slot, self.sealed, strange) = (version, slot, sealed, 0)
        }

        init(_ bytes: [UInt8]) {
            var dice = Dice(bytes)
            strange = dice.byte() & 7
            version = Int64(bitPattern: dice.word())
            slot = dice.bytes()
            sealed = dice.remainder()
        }

        var bytes: [UInt8] {
            [strange] + withUnsafeBytes(of: version.bigEndian) { Array($0) } + [UInt8(slot.count)] + slot + sealed
        }

        var keyID: [UInt8] { Array(sealed.dropFirst().prefix(SealingKey.idLength)) }
    }

    /// A database's keys, and rows that are sealed with them.
    enum DatabaseSeeds {
        static let database: [UInt8] = Array(40..<56)
        static let active: [UInt8] = Array(60..<68)
        static let decryptOnly: [UInt8] = Array(70..<78)
        static let destroyed: [UInt8] = Array(80..<88)
        static let keyIDs = [active, decryptOnly, destroyed]

        /// One key of every state, wrapped as the format says.
        static let entries: [KeysetEntry] = [(active, .active), (decryptOnly, .decryptOnly), (destroyed, .destroyed)].compactMap {
            wrapped($0, $1)
        }

        static let keyset = try? Keyset.open(entries, database: database, kek: SealSeeds.key)

        static func wrapped(_ id: [UInt8], _ state: KeysetEntry.State) -> KeysetEntry? {
            func derived(_ purpose: String, _ count: Int) -> SymmetricKey {
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: SealSeeds.key.key, salt: database, info: Array("LocalData SQLite 1 \(purpose)".utf8),
                    outputByteCount: count)
            }
            var context = Fields("LocalData SQLite 1 keyset")
            for part in [database, id, [state.rawValue], SealSeeds.key.id] { context.add(part) }
            let content = state == .destroyed ? [] : id + SealSeeds.bytes(24)
            let nonce = SealSeeds.bytes(24)
            guard let cipher = try? XAES256GCM(key: derived("wrap", 32)),
                let sealed = try? cipher.seal(content, nonce: nonce, authenticating: context.bytes)
            else { return nil }
            let verifier = derived("verifier", 16).withUnsafeBytes { Array($0) }
            return KeysetEntry(key: id, state: state, kek: SealSeeds.key.id, verifier: verifier, wrapped: nonce + sealed)
        }

        // MARK: Rows

        static let rows: [StoredRow] = {
            let contents = [
                RowContent(StorageAddress("name"), .value, RecordSeeds.metadata, payload: Array("payload".utf8)),
                RowContent(StorageAddress("removed", in: StorageNamespace("space")), .tombstone, StorageMetadata()),
            ]
            guard let keyset else { return [] }
            return ([keyset.active] + keyset.decryptOnly).flatMap { key in contents.compactMap { row($0.padded(), with: key) } }
        }()

        static let contents: [[UInt8]] =
            [0, 1].flatMap { kind in
                [
                    RowContent(StorageAddress("name"), .value, RecordSeeds.metadata, payload: Array("payload".utf8)),
                    RowContent(StorageAddress("removed", in: StorageNamespace("space")), .tombstone, StorageMetadata()),
                ].map { content in
                    let plain = content.padded()
                    return [UInt8(kind)] + (kind == 0 ? plain : Array(plain[4..<(4 + plain[2...3].reduce(0) { $0 << 8 | Int($1) })]))
                }
            } + RecordSeeds.dice.map { [2] + $0 }

        /// A content behind its length, with zeros up to its size class.
        static func padded(_ content: [UInt8]) -> [UInt8] {
            let bytes = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0) } + content
            return bytes + Array(repeating: 0, count: SizeClass.padded(bytes.count) - bytes.count)
        }

        /// A row with a whole seal around a plaintext.
        static func row(_ plain: [UInt8], with key: DataKey? = keyset?.active) -> StoredRow? {
            let (slot, version, nonce) = (SealSeeds.bytes(DataKey.slotLength), Int64(3), SealSeeds.bytes(24))
            guard let key else { return nil }
            let context = slot.withUnsafeBytes { slot in
                key.id.withUnsafeBytes { SealedRow.context(database: database, slot: slot, version: version, key: $0) }
            }
            guard let sealed = try? key.sealing.seal(plain, nonce: nonce, authenticating: context) else { return nil }
            return StoredRow(version: version, slot: slot, sealed: [SealedRow.format] + key.id + nonce + sealed)
        }

        /// What an attempt to open a row came to; a content as its plaintext.
        enum Opened: Equatable {
            case content([UInt8])
            case damaged([UInt8])
            case destroyed
            case unknownKey([UInt8])
            case refused(BackendError.Code)
        }

        static func open(_ row: StoredRow) -> Opened {
            guard let keyset else { preconditionFailure("the keyset of the seeds does not open") }
            return ScratchDatabase.shared.withLock { database in
                database.look(at: row) { row in
                    switch row.open(keyset) {
                    case .content(let content, _): .content(content.padded())
                    case .damaged(let corruption): .damaged(corruption.bytes)
                    case .destroyed: .destroyed
                    case .unknownKey(let id): .unknownKey(id)
                    case .refused(let error): .refused(error.code)
                    }
                }
            }
        }
    }
#else
    extension FuzzTarget {
        static let databases: [FuzzTarget] = []
    }
#endif
