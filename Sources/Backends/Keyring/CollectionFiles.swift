#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime

    /// The files of a daemon's collections, if their folder is known. A change is durable once this folder is flushed.
    ///
    /// gnome-keyring and oo7 flush and rename a collection's file before they reply, but do not flush the folder. oo7
    /// has its files in the folder `v1`. The daemon may use another folder than the given one. The given folder counts
    /// as the daemon's only if it has the collection's file, and if a change has replaced this file.
    struct CollectionFiles {
        let path: String?
        let isGnome: Bool
        let files: any FileSystem

        /// The folder of oo7's files, in the folder of gnome-keyring's files.
        static let oo7Folder = "v1"

        private var folder: String? { path.map { isGnome ? $0 : "\($0)/\(Self.oo7Folder)" } }

        /// Returns the status of a collection's file; nil if there is none.
        func file(of collection: String?) -> FileStatus? {
            guard let folder, let name = collection.flatMap(fileName(ofObject:)) else { return nil }
            return (try? files.status(folder + "/" + name)) ?? nil
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
            guard let path, let folder, file(of: collection) != nil else { return .untilPowerLoss }
            do throws(FileError) {
                try files.synchronizeDirectory(folder)
                // oo7 creates its folder with the first file.
                if !isGnome { try files.synchronizeDirectory(path) }
                return .durable
            } catch {
                return .untilPowerLoss
            }
        }

        /// Returns the file name for the object path of an item or a collection.
        func fileName(ofObject path: String) -> String? {
            let parts = path.split(separator: "/")
            guard let root = parts.firstIndex(of: "collection"), root + 1 < parts.endIndex else { return nil }
            return isGnome ? Self.gnomeName(parts[root + 1]) : oo7Name(parts[root + 1])
        }

        /// Returns the file name of gnome-keyring's collection. `…/collection/Default_5fkeyring` is stored in
        /// `Default_keyring.keyring`.
        private static func gnomeName(_ part: Substring) -> String? {
            var name: [UInt8] = []
            var rest = part.utf8[...]
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

        /// Returns the name of the only file that oo7 can have for a collection; nil if there are several or none.
        ///
        /// oo7 makes the object path from the file name: the first letter becomes a capital, and each character that is
        /// no letter, digit or `_` becomes `_`. Later versions write small letters. `…/collection/Login` is stored in
        /// `login.keyring`.
        private func oo7Name(_ part: Substring) -> String? {
            guard let folder, let names = (try? files.list(folder)) ?? nil else { return nil }
            let suffix = ".keyring"
            let found = names.filter { $0.hasSuffix(suffix) && Self.oo7Path($0.dropLast(suffix.count)) == Self.oo7Path(part) }
            return found.count == 1 ? found.first : nil
        }

        private static func oo7Path(_ name: Substring) -> String {
            String(name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        }
    }
#endif
