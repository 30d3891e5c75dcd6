#if SQLite
    package import BackendContract
    package import BackendRuntime
    import Crypto

    /// The valid names of databases, and the paths of their files.
    extension SQLiteStore {
        /// The maximum length of a database name, in bytes.
        package static let maximumNameLength = 200

        /// Checks the name of a database. Refuses names that could lead out of the folder, or that SQLite could
        /// interpret in another way.
        ///
        /// A name has 1 to ``maximumNameLength`` bytes: ASCII letters, digits, `.`, `_` and `-`. It must not begin with
        /// `.` or `-`.
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

        /// Returns the path of a database: `<directory>/<name>.sqlite`.
        /// - Throws: ``BackendError`` with the code `invalidName`.
        package static func path(ofDatabase name: String, in directory: String) throws(BackendError) -> String {
            try validateName(name)
            return "\(directory)/\(name).sqlite"
        }

        /// Returns the file whose lock is held during commits and checkpoints. Its name is a hash of the database's
        /// resolved path, so that every path to a database leads to the same lock.
        /// - Parameters:
        ///   - path: The path of the database.
        ///   - directory: A folder for state that all programs share that write the database.
        ///   - files: The file system. It is used only to resolve symbolic links.
        package static func lockPath(forDatabaseAt path: String, in directory: String, files: any FileSystem) -> String {
            let digest = SHA256.hash(data: Array(files.resolve(path).utf8)).withUnsafeBytes { Array($0[..<16]) }
            return "\(directory)/sqlite-\(hexadecimalText(of: digest)).lock"
        }
    }
#endif
