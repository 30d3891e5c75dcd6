#if SQLite
    @testable import BackendContract
    import Crypto
    import Synchronization

    @testable import SQLiteBackend
    @testable import Sealing

    /// Fuzz targets for rows and row contents of a database, and for its header. Each row is read through SQLite.
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
                    case .stranger:
                        let isKnown = row.sealed.first == SealedRow.format && DatabaseSeeds.keyIDs.contains(row.keyID)
                        try promise(!isKnown, "a format and a key that the header permits are called unknown")
                    case .refused(let code):
                        try promise(
                            code == .unsupported && row.sealed.first == DatabaseSeeds.laterFormat,
                            "a row is called unsupported whose format the header does not permit")
                    }
                },
                FuzzTarget(name: "row-contents", seeds: { DatabaseSeeds.contents }) { (bytes) throws(BrokenPromise) in
                    // A row content is an address, metadata and a payload. The row encrypts it, padded to one of a few
                    // sizes (size classes). The plaintext here is the input itself, the padded input, or a row content
                    // that is built from the input.
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

        /// Encrypts a plaintext as a row, and opens this row as the store does.
        /// - Returns: Whether the plaintext is a valid row content.
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

    /// A row as a target gets it: a version, a slot and encrypted bytes. Any of these columns can have a wrong type.
    struct StoredRow: Hashable {
        var version: Int64
        var slot: [UInt8]
        var sealed: [UInt8]
        /// The columns that have a value of a wrong type, one bit for each column.
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

    /// The keys of a database, and rows that are sealed with them.
    enum DatabaseSeeds {
        static let database: [UInt8] = Array(40..<56)
        /// A row format that the header permits, but this version cannot read.
        static let laterFormat: UInt8 = 2
        static let formats = [SealedRow.format, laterFormat]
        static let context = StoreContext(application: "fuzz", kind: "sqlite", scope: "scratch")
        static let active = wrapped(60)
        static let decryptOnly = wrapped(70)
        static let destroyed: [UInt8] = Array(80..<88)
        static var keyIDs: [[UInt8]] { [active?.key ?? [], decryptOnly?.key ?? [], destroyed] }

        /// Three data keys, one in each state. The two that are not destroyed are wrapped, that is, encrypted with the
        /// key of the seeds.
        static let tables: KeyTables? = {
            let wraps = [active, decryptOnly].compactMap(\.self)
            let keys = zip(wraps, [KeyTables.State.active, .decryptOnly]).map { KeyTables.Key(id: $0.key, state: $1) }
            return try? KeyTables(keys: keys + [KeyTables.Key(id: destroyed, state: .destroyed)], wraps: wraps)
        }()

        static let keyset = tables.flatMap { try? Keyset.open($0, database: database, formats: formats, kek: SealSeeds.key) }

        /// Returns a data key that is made by repeating one byte. It is encrypted with the key of the seeds.
        static func wrapped(_ byte: UInt8) -> KeyTables.Wrap? {
            let key = SymmetricKey(data: [UInt8](repeating: byte, count: 32))
            return try? KeyEncryptionKey(SealSeeds.key, database: database).wrap(key, source: "key file k") { SealSeeds.bytes($0) }
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

        /// Returns the content with its length before it, and with zeros after it up to the next size class.
        static func padded(_ content: [UInt8]) -> [UInt8] {
            let bytes = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0) } + content
            return bytes + Array(repeating: 0, count: SizeClass.padded(bytes.count) - bytes.count)
        }

        /// Returns a row that contains a plaintext with a valid seal.
        static func row(_ plain: [UInt8], with key: DataKey? = keyset?.active) -> StoredRow? {
            let (slot, version, nonce) = (SealSeeds.bytes(DataKey.slotLength), Int64(3), SealSeeds.bytes(24))
            guard let key else { return nil }
            let context = slot.withUnsafeBytes { SealedRow.context(slot: $0, version: version, key: key) }
            guard let sealed = try? key.sealing.seal(plain, nonce: nonce, authenticating: context) else { return nil }
            return StoredRow(version: version, slot: slot, sealed: [SealedRow.format] + key.id + nonce + sealed)
        }

        /// The result of opening a row. If the row has a content, the result is the padded plaintext of the content.
        enum Opened: Equatable {
            case content([UInt8])
            case damaged([UInt8])
            case destroyed
            case stranger
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
                    case .stranger: .stranger
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
