#if SQLite
    import BackendContract
    import CSQLite

    /// Format 1 of an encrypted database: schema, identifiers and connection settings. `Docs/Formats.md` describes it
    /// byte for byte.
    enum DatabaseFormat {
        /// The `application_id` in the SQLite header: "LDB1". A file with another id belongs to another program.
        static let applicationID = 0x4C44_4231
        /// The number of the format. SQLite stores it as `user_version`.
        static let number = 1
        /// The table of the encrypted rows. Its name is part of the authenticated data of every row.
        static let table = "records"

        /// The statements that create the schema. A database that contains anything beyond these tables and those of
        /// its features (extensions that the header lists) is refused: a trigger could write, and a view could return
        /// forged rows.
        static let schema = [
            "CREATE TABLE header (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE keys (key BLOB PRIMARY KEY NOT NULL, state INTEGER NOT NULL) WITHOUT ROWID",
            "CREATE TABLE wraps (key BLOB NOT NULL, recipient BLOB NOT NULL, source BLOB NOT NULL, verifier BLOB NOT NULL, wrapped BLOB NOT NULL, PRIMARY KEY (key, recipient)) WITHOUT ROWID",
            "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB NOT NULL, version INTEGER NOT NULL, sealed BLOB NOT NULL)",
            "CREATE TABLE state (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL)",
        ]

        /// Returns the statements that create a database with the given features.
        static func schema(_ features: [DatabaseFeature]) -> [String] { (schema + features.flatMap(\.tables)).sorted() }

        /// The query for the statements of everything that the database contains.
        static let schemaQuery = "SELECT coalesce(sql, type || ' ' || name) FROM sqlite_schema"

        // SQLite looks up where each column of a result comes from. It does not do this for an expression, so a `+` before a name makes a
        // statement cheaper to prepare. It does not change the value.

        /// The query for the header's authentication tag.
        static let tagQuery = "SELECT +value FROM header WHERE name = 'tag'"

        /// The query for the sealed state, which counts the commits and rows of the database.
        static let stateQuery = "SELECT +sealed FROM state WHERE id = 1"

        /// The settings of every connection, beside those that ``Connection`` makes without SQL. SQLite does not map the file into memory;
        /// most builds of SQLite do not do that anyway.
        static let pragmas =
            "PRAGMA cell_size_check = ON" + (sqlite3_compileoption_used("DEFAULT_MMAP_SIZE=0") != 0 ? "" : "; PRAGMA mmap_size = 0")

        /// The setting of a connection that sorts: SQLite keeps temporary data in memory.
        static let sorting = "PRAGMA temp_store = MEMORY"

        /// The settings of a connection that writes. SQLite overwrites deleted bytes, and a commit is on the disk when it returns. A
        /// log that grew while a reader held an older state is cut back to 4 MiB when it begins again.
        static let writing = "\(sorting); PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 4194304"

        /// Checks the application id and the format number of a database.
        /// - Throws: ``BackendError``: `corrupted` for another application id, `unsupported` for another format, which
        ///   the message names.
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

        /// Returns whether a schema consists of the basic tables and the tables of some known features.
        private static func isPlausible(_ schema: [String]) -> Bool {
            schema.sorted() == Self.schema(DatabaseFeature.known.filter { $0.tables.allSatisfy(schema.contains) })
        }

        /// Checks that the schema is the one that the format and the features require.
        /// - Parameter features: The features that the header lists; nil if the header has no such entry. The check of
        ///   the header reports that damage.
        /// - Throws: ``BackendError``: `incompatibleSchema` for an unknown schema, `corrupted` if schema and features
        ///   do not match.
        static func check(schema: [String], features: [DatabaseFeature]?) throws(BackendError) {
            let right = Self.schema(features ?? [])
            // Reason: "A feature states who must support it" in Docs/Decisions/Database.md.
            if schema.sorted() == right { return }
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
        /// The schema of the database is not the one that its format requires.
        static let incompatibleSchema = BackendError.Code("incompatibleSchema")
    }
#endif
