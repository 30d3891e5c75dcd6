#if SQLite
    import BackendContract
    import Synchronization

    @testable import SQLiteBackend
    @testable import Sealing

    /// The fuzz target for the header and the data keys of a database. A tag, which needs a data key, authenticates the
    /// header.
    extension FuzzTarget {
        static let headers: [FuzzTarget] = [
            FuzzTarget(name: "headers", seeds: { HeaderSeeds.all }) { (bytes) throws(BrokenPromise) in
                var tables = HeaderTables.original
                var dice = Dice(bytes)
                let isInsider = dice.flag()
                for _ in 0..<6 where !dice.isEmpty { tables.change(&dice) }
                // An attacker who has the keys could write a valid tag. With such a tag, the fuzzer also reaches the
                // code after the check of the tag.
                if isInsider { tables.tag() }
                let (first, second) = (tables.open(), tables.open())
                try promise(first == second, "two reads of the same header differ")
                switch first {
                case .opened(let again):
                    try promise(isInsider || tables == .original, "something opens that was never written")
                    try promise(again == tables, "there are two ways to write a header")
                case .refused(let code):
                    try promise(tables != .original, "what was written does not open")
                    let known = [.corrupted, .unsupported, BackendError.Code.encryptionKeyMismatch]
                    try promise(known.contains(code), "a header that is refused is called \(code)")
                }
            }
        ]
    }

    /// The rows of the tables `header`, `keys` and `wraps`.
    struct HeaderTables: Hashable {
        var header: [String: StoredValue]
        var keys: [[StoredValue]]
        var wraps: [[StoredValue]]

        enum Answer: Hashable {
            case opened(HeaderTables)
            case refused(BackendError.Code)
        }

        static let original: HeaderTables = {
            guard let keyset = DatabaseSeeds.keyset, let tables = DatabaseSeeds.tables else {
                preconditionFailure("the keyset of the seeds does not open")
            }
            return HeaderTables(
                DatabaseHeader(
                    database: DatabaseSeeds.database, context: DatabaseSeeds.context, formats: DatabaseSeeds.formats, keys: tables,
                    tagged: keyset))
        }()

        /// Creates the rows in which a header is stored.
        init(_ header: DatabaseHeader) {
            self.header = ["tag": .bytes(header.tag)]
            for (name, value) in header.entries { self.header[name] = .bytes(value) }
            keys = header.keys.keys.map { [.bytes($0.id), .number(Int64($0.state.rawValue))] }
            wraps = header.keys.wraps.map(Self.row)
        }

        // MARK: Changing

        mutating func change(_ dice: inout Dice) {
            let names = ["context", "database", "features", "formats", "tag"]
            switch dice.number(below: 8) {
            case 0: header[names[dice.number(below: 5)]] = value(&dice)
            case 1: header[names[dice.number(below: 5)]] = nil
            case 2: header[dice.text()] = value(&dice)
            case 3:
                let name = names[dice.number(below: 5)]
                header[name] = header[name].map { Self.flipped($0, &dice) }
            case 4: dice.flag() ? Self.drop(&keys, &dice) : Self.drop(&wraps, &dice)
            case 5:
                let new = value(&dice)
                dice.flag() ? Self.change(&keys, &dice) { _, _ in new } : Self.change(&wraps, &dice) { _, _ in new }
            case 6:
                if dice.flag() { Self.change(&keys, &dice, Self.flipped) } else { Self.change(&wraps, &dice, Self.flipped) }
            case 7:
                // Adds another key, which is wrapped correctly.
                let states: [KeyTables.State] = [.active, .decryptOnly, .destroyed]
                let state = states[dice.number(below: 3)]
                guard let wrap = DatabaseSeeds.wrapped(dice.byte()) else { return }
                keys.append([.bytes(wrap.key), .number(Int64(state.rawValue))])
                if state != .destroyed { wraps.append(Self.row(wrap)) }
            default: break
            }
            // A table may have only one row for each key, so further rows are dropped. The rows are sorted, so that
            // tables can be compared.
            Self.settle(&keys, by: 1)
            Self.settle(&wraps, by: 2)
        }

        private static func row(_ wrap: KeyTables.Wrap) -> [StoredValue] {
            [.bytes(wrap.key), .bytes(wrap.recipient), .bytes(Array(wrap.source.utf8)), .bytes(wrap.verifier), .bytes(wrap.wrapped)]
        }

        private static func drop(_ table: inout [[StoredValue]], _ dice: inout Dice) {
            if !table.isEmpty { table.remove(at: dice.number(below: table.count)) }
        }

        private static func change(
            _ table: inout [[StoredValue]], _ dice: inout Dice, _ change: (StoredValue, inout Dice) -> StoredValue
        ) {
            guard !table.isEmpty else { return }
            let (row, column) = (dice.number(below: table.count), dice.number(below: table[0].count))
            table[row][column] = change(table[row][column], &dice)
        }

        private static func settle(_ table: inout [[StoredValue]], by columns: Int) {
            table = table.reduce(into: []) { rows, row in
                if !rows.contains(where: { $0.prefix(columns) == row.prefix(columns) }) { rows.append(row) }
            }
            table.sort { key($0, columns).lexicographicallyPrecedes(key($1, columns)) }
        }

        private static func key(_ row: [StoredValue], _ columns: Int) -> [UInt8] {
            row.prefix(columns).flatMap { if case .bytes(let bytes) = $0 { bytes } else { [] as [UInt8] } }
        }

        private func value(_ dice: inout Dice) -> StoredValue {
            switch dice.number(below: 8) {
            case 0: .number(Int64(dice.byte()))
            case 1: .number(Int64(bitPattern: dice.word()))
            case 2: .text(dice.text())
            default: .bytes(dice.bytes())
            }
        }

        private static func flipped(_ value: StoredValue, _ dice: inout Dice) -> StoredValue {
            switch value {
            case .number(let number): return .number(number ^ Int64(dice.byte()))
            case .bytes(var bytes) where !bytes.isEmpty:
                bytes[dice.number(below: bytes.count)] ^= dice.byte()
                return .bytes(bytes)
            default: return value
            }
        }

        /// Writes the correct tag of the tables, if they can be decoded.
        mutating func tag() {
            guard let tables = try? tables(), case .bytes(let database)? = header["database"],
                let keyset = try? Keyset.open(tables, database: database, formats: DatabaseSeeds.formats, kek: SealSeeds.key)
            else { return }
            let entries = header.compactMap { name, value -> (name: String, value: [UInt8])? in
                if case .bytes(let bytes) = value, name != "tag" { (name, bytes) } else { nil }
            }
            header["tag"] = .bytes(keyset.tag(header: entries, tables: tables))
        }

        private func tables() throws(BackendError) -> KeyTables {
            var (keys, wraps): ([KeyTables.Key], [KeyTables.Wrap]) = ([], [])
            for row in self.keys {
                guard case .bytes(let key) = row[0], case .number(let number) = row[1],
                    let state = UInt8(exactly: number).flatMap(KeyTables.State.init)
                else { throw Keyset.damage }
                keys.append(KeyTables.Key(id: key, state: state))
            }
            for row in self.wraps {
                guard case .bytes(let key) = row[0], case .bytes(let recipient) = row[1], case .bytes(let source) = row[2],
                    case .bytes(let verifier) = row[3], case .bytes(let wrapped) = row[4]
                else { throw Keyset.damage }
                wraps.append(
                    KeyTables.Wrap(
                        key: key, recipient: recipient, source: String(decoding: source, as: UTF8.self), verifier: verifier,
                        wrapped: wrapped))
            }
            var sender: [UInt8]?
            if case .bytes(let bytes)? = header["sender"] { sender = bytes }
            return try KeyTables(keys: keys, wraps: wraps, sender: sender)
        }

        // MARK: Reading

        /// Writes the tables into a database, and reads them as the store does.
        func open() -> Answer {
            ScratchDatabase.shared.withLock { database in
                database.run("BEGIN", [])
                defer { database.run("ROLLBACK", []) }
                for (name, value) in header { database.run("INSERT INTO header VALUES (?, ?)", [.text(name), value]) }
                for row in keys { database.run("INSERT INTO keys VALUES (?, ?)", row) }
                for row in wraps { database.run("INSERT INTO wraps VALUES (?, ?, ?, ?, ?)", row) }
                do throws(BackendError) {
                    let header = try DatabaseHeader(reading: database.connection)
                    _ = try header.open(.key(SealSeeds.key), in: nil)
                    return .opened(HeaderTables(header))
                } catch {
                    return .refused(error.code)
                }
            }
        }
    }

    /// Inputs for ``Dice``. Each one leads to some changes of the header.
    enum HeaderSeeds {
        static let all: [[UInt8]] = [
            [], [1], [0, 3, 0, 0, 1], [1, 2, 1, 97, 3, 1, 1], [1, 0, 1, 3, 8, 0, 0, 0, 4, 110, 97, 109, 101], [1, 1, 2], [0, 4, 0],
            [1, 4, 1],
            [1, 5, 0, 1, 0, 2], [1, 6, 1, 1, 1], [1, 7, 1, 2, 3, 4, 5, 6, 7, 8, 1], [1, 7, 1, 2, 3, 4, 5, 6, 7, 8, 0, 4, 1],
            [1, 0, 2, 3, 6, 115, 111, 117, 114, 99, 101],
        ]
    }
#endif
