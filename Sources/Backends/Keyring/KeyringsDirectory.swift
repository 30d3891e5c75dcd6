#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime

    /// The folder of gnome-keyring's collections, if its path is known. Flushing it is the last step to durability.
    ///
    /// The daemon flushes a collection's file and renames it before it replies, but does not flush the folder. Whether the folder that was
    /// named is really the daemon's own is judged from the collection's file: it must be there, and a change must have replaced it.
    struct KeyringsDirectory: Sendable {
        let path: String?
        let files: any FileSystem

        /// The state of a collection's file; nil where there is none.
        func file(of collection: String?) -> FileStatus? {
            guard let path, let name = collection.flatMap(Self.fileName(ofObject:)) else { return nil }
            return (try? files.status(path + "/" + name)) ?? nil
        }

        /// Makes a change durable, if the collection's file shows it.
        /// - Parameter before: The state of the file before the change.
        func flush(changed collection: String?, since before: FileStatus?) -> StorageDurability {
            guard let now = file(of: collection), now != before else { return .untilPowerLoss }
            return flush(collection)
        }

        /// Makes what the collection's file shows durable.
        func flush(_ collection: String?) -> StorageDurability {
            guard let path, file(of: collection) != nil else { return .untilPowerLoss }
            do throws(FileError) {
                try files.synchronizeDirectory(path)
                return .durable
            } catch {
                return .untilPowerLoss
            }
        }

        /// How well the default collection is protected, by its file: gnome-keyring writes a collection without a password as plain text, which begins with `[keyring]`.
        ///
        /// The bus does not say whether a collection has a password. Without the file, or with one of another program, it counts as protected.
        var protection: ProtectionLevel {
            guard let path, let file = try? files.read("\(path)/\(defaultFile)") else { return .keychain }
            var bytes = file.bytes
            defer { wipe(&bytes) }
            return bytes.starts(with: Array("[keyring]".utf8)) ? .plain : .keychain
        }

        /// Why there is no default collection, and what to do: where its file is there, the daemon cannot read it.
        var noCollection: String {
            guard let path, let file = try? files.read("\(path)/\(defaultFile)") else {
                return
                    "There is no default keyring yet. Create one (log in to the desktop once, use Seahorse, or start gnome-keyring-daemon --unlock "
                    + "with a password), then try again."
            }
            var bytes = file.bytes
            wipe(&bytes)
            return
                "The keyring's program does not offer the collection in \(path)/\(defaultFile): the file is probably damaged. Do not create another keyring, which takes its place. Keep a copy of the file, restore it from a backup, restart the program, and try again."
        }

        /// The name of the file that keeps the default collection.
        var defaultFile: String { "\(defaultName).keyring" }

        /// The collection that the file `default` names, or else the one that the daemon makes for a login.
        private var defaultName: String {
            let named = path.flatMap { try? files.read($0 + "/default") }.map { String(decoding: $0.bytes, as: UTF8.self) }
            let name = named.map { String($0.prefix { $0 != "\n" && $0 != "/" }) } ?? ""
            return name.isEmpty ? "login" : name
        }

        /// The file of an item's or a collection's object path: `…/collection/Default_5fkeyring/7` is kept in `Default_keyring.keyring`.
        static func fileName(ofObject path: String) -> String? {
            let parts = path.split(separator: "/")
            guard let folder = parts.firstIndex(of: "collection"), folder + 1 < parts.endIndex else { return nil }
            var name: [UInt8] = []
            var rest = parts[folder + 1].utf8[...]
            while let byte = rest.popFirst() {
                // libsecret's and gnome-keyring's escaping of object paths: _ and two hexadecimal digits.
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
