#if SQLite
    import BackendContract
    import Synchronization

    @testable import SQLiteBackend
    @testable import Sealing

    /// The header and the keyset of a database.
    extension FuzzTarget {
        static let headers: [FuzzTarget] = [
            FuzzTarget(name: "headers", seeds: { HeaderSeeds.all }) { (bytes) throws(BrokenPromise) in
                var tables = HeaderTables.original
                var dice = Dice(bytes)
                let isInsider = dice.flag()
                for _ in 0..<6 where !dice.isEmpty { tables.change(&dice) }
                // Somebody with the keys tags what he made, so that what is behind the tag is reached.
                if isInsider { tables.tag() }
                let (first, second) = (tables.open(), tables.open())
                try promise(first == second, "two looks at the same header found different things")
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

    /// The rows of the tables `header` and `keyset`.
    struct HeaderTables: Hashable {
        var header: [String: StoredValue]
        var keyset: [[StoredValue]]

        enum Answer: Hashable {
            case opened(HeaderTables)
            case refused(BackendError.Code)
        }

        static let original: HeaderTables = {
            guard let keyset = DatabaseSeeds.keyset else { preconditionFailure("the keyset of the seeds does not open") }
            return HeaderTables(
                DatabaseHeader(database: DatabaseSeeds.database, source: "key file k", keyset: keyset, entries: DatabaseSeeds.entries))
        }()

        /// What a header is written as.
        init(_ header: DatabaseHeader) {
            self.header = ["tag": .bytes(header.tag)]
            for (name, value) in DatabaseHeader.entries(header.database, header.source, header.features) {
                self.header[name] = .bytes(value)
            }
            keyset = header.keyset.map {
                [.bytes($0.key), .number(Int64($0.state.rawValue)), .bytes($0.kek), .bytes($0.verifier), .bytes($0.wrapped)]
            }
        }

        // MARK: Changing

        mutating func change(_ dice: inout Dice) {
            let names = ["database", "features", "source", "tag"]
            switch dice.number(below: 8) {
            case 0: header[names[dice.number(below: 4)]] = value(&dice)
            case 1: header[names[dice.number(below: 4)]] = nil
            case 2: header[dice.text()] = value(&dice)
            case 3:
                let name = names[dice.number(below: 4)]
                header[name] = header[name].map { Self.flipped($0, &dice) }
            case 4 where !keyset.isEmpty: keyset.remove(at: dice.number(below: keyset.count))
            case 5 where !keyset.isEmpty:
                let row = dice.number(below: keyset.count)
                keyset[row][dice.number(below: 5)] = value(&dice)
            case 6 where !keyset.isEmpty:
                let (row, column) = (dice.number(below: keyset.count), dice.number(below: 5))
                keyset[row][column] = Self.flipped(keyset[row][column], &dice)
            case 7:
                // Another key, wrapped as it should be.
                let states: [KeysetEntry.State] = [.active, .decryptOnly, .destroyed]
                let id = (0..<SealingKey.idLength).map { _ in dice.byte() }
                guard let entry = DatabaseSeeds.wrapped(id, states[dice.number(below: 3)]) else { return }
                keyset.append([
                    .bytes(entry.key), .number(Int64(entry.state.rawValue)), .bytes(entry.kek), .bytes(entry.verifier),
                    .bytes(entry.wrapped),
                ])
            default: break
            }
            // A table has a key once, and gives its rows in the order of the keys.
            keyset = keyset.reduce(into: []) { rows, row in if !rows.contains(where: { $0[0] == row[0] }) { rows.append(row) } }
            keyset.sort { Self.key($0).lexicographicallyPrecedes(Self.key($1)) }
        }

        private static func key(_ row: [StoredValue]) -> [UInt8] { if case .bytes(let bytes) = row[0] { bytes } else { [] } }

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

        /// Writes the tag that belongs to the tables, as far as they make sense.
        mutating func tag() {
            guard let entries = try? entries(), case .bytes(let database)? = header["database"],
                case .bytes(let source)? = header["source"],
                let keyset = try? Keyset.open(entries, database: database, kek: SealSeeds.key)
            else { return }
            var features: [String] = []
            if case .bytes(let bytes)? = header["features"] { features = (try? DatabaseHeader.features(bytes)) ?? [] }
            let fields = DatabaseHeader.entries(database, String(decoding: source, as: UTF8.self), features)
            header["tag"] = .bytes(keyset.tag(header: fields, entries: entries))
        }

        private func entries() throws(BackendError) -> [KeysetEntry] {
            var entries: [KeysetEntry] = []
            for row in keyset {
                guard case .bytes(let key) = row[0], case .number(let state) = row[1], case .bytes(let kek) = row[2],
                    case .bytes(let verifier) = row[3], case .bytes(let wrapped) = row[4]
                else { throw Keyset.damage }
                entries.append(try KeysetEntry(key: key, state: state, kek: kek, verifier: verifier, wrapped: wrapped))
            }
            return entries
        }

        // MARK: Reading

        /// Puts the tables into a database, and reads it as the store does.
        func open() -> Answer {
            ScratchDatabase.shared.withLock { database in
                database.run("BEGIN", [])
                defer { database.run("ROLLBACK", []) }
                for (name, value) in header { database.run("INSERT INTO header VALUES (?, ?)", [.text(name), value]) }
                for row in keyset { database.run("INSERT INTO keyset VALUES (?, ?, ?, ?, ?)", row) }
                do throws(BackendError) {
                    let header = try DatabaseHeader(reading: database.connection)
                    _ = try header.open(SealSeeds.key)
                    return .opened(HeaderTables(header))
                } catch {
                    return .refused(error.code)
                }
            }
        }
    }

    /// Changes, as ``Dice`` reads them.
    enum HeaderSeeds {
        static let all: [[UInt8]] = [
            [], [1], [0, 3, 0, 0, 1], [1, 2, 1, 97, 3, 1, 1], [1, 0, 1, 3, 8, 0, 0, 0, 4, 110, 97, 109, 101], [1, 1, 2], [0, 4, 0],
            [1, 4, 1],
            [1, 5, 0, 1, 0, 2], [1, 6, 1, 1, 1], [1, 7, 1, 2, 3, 4, 5, 6, 7, 8, 1], [1, 7, 1, 2, 3, 4, 5, 6, 7, 8, 0, 4, 1],
            [1, 0, 2, 3, 6, 115, 111, 117, 114, 99, 101],
        ]
    }
#endif
