#if SQLite
    import CSQLite

    extension SQLiteStore {
        /// A warning if the version of SQLite on this machine can damage a database; nil for a version without a known
        /// bug.
        package static var warning: String? {
            warning(version: Int(sqlite3_libversion_number()), text: String(cString: sqlite3_libversion()))
        }

        /// Returns the warning for a version. The bug is in versions 3.7.0 to 3.51.2. It is fixed in 3.44.6 and later
        /// versions of 3.44, and in 3.50.7 and later versions of 3.50. Source: sqlite.org/wal.html, "The WAL-reset
        /// bug".
        static func warning(version: Int, text: String) -> String? {
            let isMended = version >= 3_051_003 || (3_050_007..<3_051_000).contains(version) || (3_044_006..<3_045_000).contains(version)
            guard !isMended else { return nil }
            return
                "SQLite \(text) can damage a database when another program than one of this library opens it for writing at the same time. Programs of this library are safe beside each other."
        }
    }
#endif
