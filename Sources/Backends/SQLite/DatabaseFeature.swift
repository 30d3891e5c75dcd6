#if SQLite
    import BackendContract

    /// An extension of the database format with tables beyond the basic ones. It states what a program that does not
    /// support it may still do. So a later version can extend the format without a new format number.
    struct DatabaseFeature: Hashable, Sendable {
        /// The programs that must support a feature.
        enum Need: UInt8, Sendable {
            /// Readers and writers must support the feature. Without support, a reader would return wrong results.
            case reading = 1
            /// Writers must support the feature. Other programs may only read.
            case writing = 2
            /// No program must support the feature. Other programs may read and write; they leave its tables unchanged.
            case nothing = 3
        }

        let name: String
        let need: Need
        /// The statements that create the feature's tables.
        let tables: [String]

        /// An index over values outside the namespace `.values`. Queries use it to find values by type, attribute and
        /// day of change.
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

        /// The error for a change of a database with this feature, which writers must support.
        var writingRefused: BackendError { refused("can be read, but not changed, because it uses") }

        /// The error for opening a database with this feature, which readers must support.
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
        /// Each feature has its counted name, one byte for its ``Need``, the number of its tables (4 bytes), and their
        /// counted statements. A counted field is preceded by its length in 4 bytes.
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
        /// - Throws: ``RecordDamage`` for malformed bytes, for a known feature with another need or other tables, and
        ///   for a statement that does not create a table.
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
