#if SQLite
    package import BackendContract
    package import BackendRuntime
    import Crypto

    /// Which names a database can have, and where its files are.
    extension SQLiteStore {
        /// The longest name of a database, in bytes.
        package static let maximumNameLength = 200

        /// Refuses the names of databases that could lead out of the directory, or that SQLite could read as something else.
        ///
        /// A name has 1 to ``maximumNameLength`` bytes: letters, digits, `.`, `_` and `-` of ASCII, and does not begin with a `.` or a `-`.
        /// - Throws: ``BackendError`` with the code `invalidName`.
        package static func validateName(_ name: String) throws(BackendError) {
            let isPlain = name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
            guard isPlain, (1...maximumNameLength).contains(name.utf8.count), !name.hasPrefix("."), !name.hasPrefix("-") else {
                throw BackendError(
                    .invalidName,
                    "A database's name has 1 to \(maximumNameLength) letters, digits, \".\", \"_\" and \"-\", and does not begin with \".\" or \"-\". It is not a path. Use a name such as \"documents\"."
                )
            }
        }

        /// The file of a database: `<directory>/<name>.sqlite`.
        /// - Throws: ``BackendError`` with the code `invalidName`.
        package static func path(ofDatabase name: String, in directory: String) throws(BackendError) -> String {
            try validateName(name)
            return "\(directory)/\(name).sqlite"
        }

        /// The file whose lock is held around commits and checkpoints, named by the physical file: every path to a database leads to one
        /// lock.
        /// - Parameters:
        ///   - path: The database.
        ///   - directory: A directory of state that all programs share that write the database.
        ///   - files: The file system, used to resolve symbolic links only.
        package static func lockPath(forDatabaseAt path: String, in directory: String, files: any FileSystem) -> String {
            let digest = SHA256.hash(data: Array(files.resolve(path).utf8))
            return "\(directory)/sqlite-\(hexadecimalText(of: digest.prefix(16))).lock"
        }
    }
#endif
