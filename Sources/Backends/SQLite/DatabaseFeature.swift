#if SQLite
    import BackendContract

    /// Something in a database beyond the tables that every one has, by name. It says who may do what without knowing it, so that a later
    /// version can add to the format without another one.
    struct DatabaseFeature: Hashable, Sendable {
        /// Who has to know a feature.
        enum Need: UInt8, Sendable {
            /// Whoever reads, and so whoever writes: without it, what is read would be wrong.
            case reading = 1
            /// Whoever writes: a program that does not know it may read.
            case writing = 2
            /// Nobody: a program that does not know it reads and writes, and leaves the feature's tables as they are.
            case nothing = 3
        }

        let name: String
        let need: Need
        /// The statements that make the feature's tables.
        let tables: [String]

        /// Labels: values outside the namespace of values can be found by what they have in common.
        static let labels = DatabaseFeature(
            name: "labels", need: .writing,
            tables: [
                "CREATE TABLE labels (label BLOB NOT NULL, slot BLOB NOT NULL, PRIMARY KEY (label, slot)) WITHOUT ROWID",
                "CREATE TABLE counts (label BLOB PRIMARY KEY NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID",
            ])

        /// Those that this version of the library knows.
        static let known = [labels]

        /// Whether this version of the library knows the feature.
        var isKnown: Bool { Self.known.contains(self) }

        /// The error of a change of a database that has the feature.
        var writingRefused: BackendError { refused("can be read, but not changed, because it uses") }

        /// The error of a database that has the feature.
        var readingRefused: BackendError { refused("uses") }

        private func refused(_ how: String) -> BackendError {
            BackendError(
                .unsupported,
                "The database \(how) \"\(name.prefix(40))\", which this version of the library does not know. Update the program; nothing was changed."
            )
        }

        // MARK: As bytes

        /// Features as the header holds them: of each, in the order of the names, the counted name, one byte that says who has to know it,
        /// the number of its tables, and their counted statements.
        static func bytes(of features: [DatabaseFeature]) -> [UInt8] {
            var writer = ByteWriter()
            for feature in features {
                writer.counted(feature.name.utf8)
                writer.byte(feature.need.rawValue)
                writer.fixed(UInt32(feature.tables.count))
                for table in feature.tables { writer.counted(table.utf8) }
            }
            return writer.bytes
        }

        /// Reads ``bytes(of:)``.
        /// - Throws: ``RecordDamage``: also for a known feature with another need or other tables, and for a statement that makes no table.
        static func features(_ bytes: [UInt8]) throws(RecordDamage) -> [DatabaseFeature] {
            var reader = ByteReader(bytes[...])
            var features: [DatabaseFeature] = []
            while !reader.isAtEnd {
                let name = try reader.text()
                guard let need = Need(rawValue: try reader.byte()) else { throw RecordDamage("says of a feature what nobody knows") }
                var tables: [String] = []
                for _ in 0..<(try reader.fixed(UInt32.self)) {
                    tables.append(try reader.text())
                    guard tables.last?.hasPrefix("CREATE TABLE ") == true else { throw RecordDamage("has a statement that makes no table") }
                }
                let feature = DatabaseFeature(name: name, need: need, tables: tables)
                guard !known.contains(where: { $0.name == name }) || feature.isKnown else {
                    throw RecordDamage("says of a feature what it is not")
                }
                if let last = features.last, !last.name.utf8.lexicographicallyPrecedes(name.utf8) {
                    throw RecordDamage("has features out of order")
                }
                features.append(feature)
            }
            return features
        }
    }
#endif
