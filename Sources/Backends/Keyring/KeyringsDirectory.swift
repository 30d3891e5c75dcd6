#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime

    /// The folder with the files of gnome-keyring's collections, if its path is known. A change is durable once this
    /// folder is flushed.
    ///
    /// gnome-keyring flushes and renames a collection's file before it replies, but does not flush the folder. The
    /// daemon may use another folder than the given one. The given folder counts as the daemon's only if it has the
    /// collection's file, and if a change has replaced this file.
    struct KeyringsDirectory: Sendable {
        let path: String?
        let files: any FileSystem

        /// Returns the status of a collection's file; nil if there is none.
        func file(of collection: String?) -> FileStatus? {
            guard let path, let name = collection.flatMap(Self.fileName(ofObject:)) else { return nil }
            return (try? files.status(path + "/" + name)) ?? nil
        }

        /// Makes a change durable by flushing the folder. If the change has not replaced the collection's file, returns
        /// `untilPowerLoss`: a power cut may undo the change.
        /// - Parameter before: The status of the file before the change.
        func flush(changed collection: String?, since before: FileStatus?) -> StorageDurability {
            // Reason: "Durability needs the daemon's folder, or a reboot" in Docs/Decisions/Keyring.md.
            guard let now = file(of: collection), now != before else { return .untilPowerLoss }
            return flush(collection)
        }

        /// Makes the current content of the collection's file durable. Returns `untilPowerLoss` if there is no such
        /// file.
        func flush(_ collection: String?) -> StorageDurability {
            guard let path, file(of: collection) != nil else { return .untilPowerLoss }
            do throws(FileError) {
                try files.synchronizeDirectory(path)
                return .durable
            } catch {
                return .untilPowerLoss
            }
        }

        /// The protection level of the default collection, judged by its file. If there is no such file, or if its
        /// format is not that of a collection without a password, the collection counts as protected.
        /// Reason: "A keyring without a password counts as plain" in Docs/Decisions/Keys.md.
        var protection: ProtectionLevel {
            guard let path, let file = try? files.read("\(path)/\(defaultFile)") else { return .keychain }
            var bytes = file.bytes
            defer { wipe(&bytes) }
            return bytes.starts(with: Array("[keyring]".utf8)) ? .plain : .keychain
        }

        /// The text of an error: why there is no default collection, and what to do. If the collection's file exists,
        /// the text says that the file is probably damaged.
        var noCollection: String {
            guard let path, let file = try? files.read("\(path)/\(defaultFile)") else {
                return
                    "There is no default keyring yet. Create one, then try again: log in to the desktop once, use Seahorse, or run "
                    + "\(KeyringFault.unlockCommand)."
            }
            var bytes = file.bytes
            wipe(&bytes)
            return
                "The keyring's program does not offer the collection in \(path)/\(defaultFile): the file is probably damaged. Do not create another keyring: it would replace this one. Keep a copy of the file, restore it from a backup, restart the program, and try again."
        }

        /// The file name of the default collection.
        var defaultFile: String { "\(defaultName).keyring" }

        /// The name of the default collection, which the file `default` contains. Without that file, `login`: the
        /// collection that the daemon creates when the user logs in.
        private var defaultName: String {
            let named = path.flatMap { try? files.read($0 + "/default") }.map { String(decoding: $0.bytes, as: UTF8.self) }
            let name = named.map { String($0.prefix { $0 != "\n" && $0 != "/" }) } ?? ""
            return name.isEmpty ? "login" : name
        }

        /// Returns the file name for the object path of an item or a collection. `…/collection/Default_5fkeyring/7`
        /// is stored in `Default_keyring.keyring`.
        static func fileName(ofObject path: String) -> String? {
            let parts = path.split(separator: "/")
            guard let folder = parts.firstIndex(of: "collection"), folder + 1 < parts.endIndex else { return nil }
            var name: [UInt8] = []
            var rest = parts[folder + 1].utf8[...]
            while let byte = rest.popFirst() {
                // libsecret and gnome-keyring escape a byte in object paths as _ and two hexadecimal digits.
                if byte == UInt8(ascii: "_"), let escaped = bytes(ofHexadecimal: String(decoding: rest.prefix(2), as: UTF8.self))?.first {
                    name.append(escaped)
                    rest = rest.dropFirst(2)
                } else {
                    name.append(byte)
                }
            }
            guard !name.contains(UInt8(ascii: "/")), let text = String(validating: name, as: UTF8.self) else { return nil }
            return text + ".keyring"
        }
    }
#endif
