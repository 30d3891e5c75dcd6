#if SQLite
    import BackendContract

    /// An extension of the database format, with tables beyond the basic ones. A later version of the library can add
    /// features without a new format number. Each feature states whether a program that does not support it may still
    /// read or write the database.
    struct DatabaseFeature: Hashable, Sendable {
        /// The programs that must support a feature.
        enum Need: UInt8, Sendable {
            /// Readers and writers must support the feature. Without support, a reader would return wrong results.
            case reading = 1
            /// Writers must support the feature. A program that does not support it may only read.
            case writing = 2
            /// No program must support the feature. A program that does not support it may read and write; it leaves
            /// the feature's tables unchanged.
            case nothing = 3
        }

        let name: String
        let need: Need
        /// The statements that create the feature's tables.
        let tables: [String]

        /// An index by which queries find values by type, attribute and day of change. The values of the namespace
        /// `.values`, which belong to single keys, are not in the index.
        static let labels = DatabaseFeature(
            name: "labels", need: .writing,
            tables: [
                "CREATE TABLE labels (label BLOB NOT NULL, slot BLOB NOT NULL, PRIMARY KEY (label, slot)) WITHOUT ROWID",
                "CREATE TABLE counts (label BLOB PRIMARY KEY NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID",
            ])

        /// The features that this version of the library supports.
        static let known = [labels]

        /// Whether this version of the library supports the feature.
        var isKnown: Bool { Self.known.contains(self) }

        /// The error for an attempt to write the database, if this program does not support the feature and writers
        /// must.
        var writingRefused: BackendError { refused("can be read, but not changed, because it uses") }

        /// The error for an attempt to open the database, if this program does not support the feature and readers
        /// must.
        var readingRefused: BackendError { refused("uses") }

        private func refused(_ how: String) -> BackendError {
            BackendError(
                .unsupported,
                "The database \(how) \"\(name.prefix(40))\", which this version of the library does not know. Update the program; nothing was changed."
            )
        }

        // MARK: As bytes

        /// Encodes features for the header. The caller sorts them by name.
        ///
        /// A feature is encoded as its counted name, one byte for its ``Need``, and the number of its tables (4 bytes).
        /// The counted statements of the tables follow. *Counted* means: preceded by the length in 4 bytes.
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

        /// Decodes ``bytes(of:)``.
        /// - Throws: ``RecordDamage`` for malformed bytes, and for a statement that does not create a table. Also for a
        ///   known feature whose need or tables differ from those in this library.
        static func features(_ bytes: [UInt8]) throws(RecordDamage) -> [DatabaseFeature] {
            var reader = ByteReader(bytes[...])
            var features: [DatabaseFeature] = []
            while !reader.isAtEnd {
                let name = try reader.text()
                guard let need = Need(rawValue: try reader.byte()) else { throw RecordDamage("has an unknown need for a feature") }
                var tables: [String] = []
                for _ in 0..<(try reader.fixed(UInt32.self)) {
                    tables.append(try reader.text())
                    guard tables.last?.hasPrefix("CREATE TABLE ") == true else { throw RecordDamage("has a statement that makes no table") }
                }
                let feature = DatabaseFeature(name: name, need: need, tables: tables)
                guard !known.contains(where: { $0.name == name }) || feature.isKnown else {
                    throw RecordDamage("describes a known feature with another need or other tables")
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
