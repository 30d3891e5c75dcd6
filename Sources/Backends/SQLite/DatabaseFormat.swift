#if SQLite
    import BackendContract

    /// The format 1 of a database (`Docs/Design.md` describes it byte for byte).
    enum DatabaseFormat {
        /// "LDB1" in the file's header: the application that the database belongs to.
        static let applicationID = 0x4C44_4231
        /// The format's number, kept as SQLite's user version.
        static let number = 1
        /// The table that the rows are in; it is part of what they are bound to.
        static let table = "records"

        /// The statements that make the schema. A database that holds anything else is refused: a trigger could write, a view could answer.
        static let schema = [
            "CREATE TABLE header (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE keys (key BLOB PRIMARY KEY NOT NULL, state INTEGER NOT NULL) WITHOUT ROWID",
            "CREATE TABLE wraps (key BLOB NOT NULL, recipient BLOB NOT NULL, source BLOB NOT NULL, verifier BLOB NOT NULL, wrapped BLOB NOT NULL, PRIMARY KEY (key, recipient)) WITHOUT ROWID",
            "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB NOT NULL, version INTEGER NOT NULL, sealed BLOB NOT NULL)",
            "CREATE TABLE state (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL)",
        ]

        /// The schema of a database with these features.
        static func schema(_ features: [DatabaseFeature]) -> Set<String> { Set(schema + features.flatMap(\.tables)) }

        /// The statement that reads the header's features.
        static let featuresQuery = "SELECT value FROM header WHERE name = 'features'"

        /// The statement that lists what a database holds.
        static let schemaQuery = "SELECT coalesce(sql, type || ' ' || name) FROM sqlite_schema ORDER BY name"

        /// The statement that reads the header's tag.
        static let tagQuery = "SELECT value FROM header WHERE name = 'tag'"

        /// The statement that reads the sealed state.
        static let stateQuery = "SELECT sealed FROM state WHERE id = 1"

        /// The settings of every connection.
        static let pragmas = [
            // Nothing in the schema is trusted, nothing temporary reaches the disk, and what is deleted is overwritten.
            "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA temp_store = MEMORY", "PRAGMA mmap_size = 0",
            "PRAGMA secure_delete = ON",
            // A commit is on the disk when it returns; checkpoints are made only where this library asks for one.
            "PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 0",
        ]

        /// Checks application id and format.
        /// - Throws: ``BackendError``, naming what was found.
        static func check(applicationID: Int, number: Int) throws(BackendError) {
            guard applicationID == Self.applicationID else {
                throw BackendError(
                    .corrupted,
                    "The file is not a database of this library. Move it away, or use another database name; nothing was changed.")
            }
            guard number == Self.number else {
                throw BackendError(
                    .unsupported,
                    "The database has format \(number); this version of the library knows format \(Self.number). \(number > Self.number ? "Update the program." : "Open it with the version that wrote it.") Nothing was changed."
                )
            }
        }

        /// Whether a schema is that of a database with some of the known features.
        private static func isPlausible(_ schema: [String]) -> Bool {
            let found = Set(schema)
            let features = DatabaseFeature.known.filter { found.isSuperset(of: $0.tables) }
            return schema.count == found.count && found == Self.schema(features)
        }

        /// Checks the schema.
        /// - Parameter features: Those in the header; nil where it has no such entry, which is the header's own damage.
        /// - Throws: ``BackendError``: `incompatibleSchema`; `corrupted` where schema and features are not of one database.
        static func check(schema: [String], features: [DatabaseFeature]?) throws(BackendError) {
            let right = Self.schema(features ?? [])
            if Set(schema) == right, schema.count == right.count { return }
            if isPlausible(schema) {
                guard features != nil else { return }
                throw BackendError(
                    .corrupted,
                    "The database's schema and the features in its header do not belong together: another program changed one of them. Restore the file from a backup; nothing was changed."
                )
            }
            let extra = schema.filter { !right.contains($0) }.map { $0.prefix(60) }.first
            throw BackendError(
                .incompatibleSchema,
                "The database's schema is not that of format \(number): \(extra.map { "it has \"\($0)…\"" } ?? "something is missing"). Another program changed it; restore the file from a backup. Nothing was changed."
            )
        }
    }

    extension BackendError.Code {
        /// The schema is not that of this format.
        static let incompatibleSchema = BackendError.Code("incompatibleSchema")
    }
#endif
