#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime

    /// The folder with the files of gnome-keyring and oo7, if its path is known: `$XDG_DATA_HOME/keyrings`.
    struct KeyringsDirectory: Sendable {
        let path: String?
        let files: any FileSystem

        /// Returns the files of the daemon.
        /// - Parameter isGnome: Whether the daemon is gnome-keyring.
        func files(isGnome: Bool) -> CollectionFiles { CollectionFiles(path: path, isGnome: isGnome, files: files) }

        /// The protection level of the default collection, judged by the files of gnome-keyring and oo7. If neither has
        /// the format of a collection without a password, the collection counts as protected.
        /// Reason: "A keyring without a password counts as plain" in Docs/Decisions/Keys.md.
        var protection: ProtectionLevel { isPlainText || isUnencrypted ? .plain : .keychain }

        /// Whether gnome-keyring's file of the default collection is plain text, because it has no password.
        var isPlainText: Bool { contents(of: defaultFile) { $0.starts(with: "[keyring]".utf8) } ?? false }

        /// Whether oo7's file of the default collection is unencrypted.
        ///
        /// The file has the values of all attributes. In an encrypted file, they are codes of HMAC. oo7 gives each item the
        /// attribute `xdg:content-type`, and the value for LocalData's items is `text/plain`.
        private var isUnencrypted: Bool {
            contents(of: "\(CollectionFiles.oo7Folder)/login.keyring") { bytes in
                let (start, type) = (Array("GnomeKeyring\n\r\0\n\u{1}".utf8), Array("text/plain".utf8))
                return bytes.starts(with: start) && bytes.indices.contains { bytes[$0...].starts(with: type) }
            } ?? false
        }

        /// Returns a fact about a file; nil if the file cannot be read.
        private func contents(of name: String, _ fact: ([UInt8]) -> Bool) -> Bool? {
            guard let path, let file = try? files.read("\(path)/\(name)") else { return nil }
            var bytes = file.bytes
            defer { wipe(&bytes) }
            return fact(bytes)
        }

        /// The text of an error: why there is no default collection, and what to do. If the collection's file exists,
        /// the text says that the file is probably damaged.
        var noCollection: String {
            let names = ["\(CollectionFiles.oo7Folder)/login.keyring", defaultFile]
            guard let path, let name = names.first(where: { contents(of: $0) { _ in true } != nil }) else {
                return
                    "There is no default keyring yet. Create one, then try again: log in to the desktop once, use Seahorse, or run "
                    + "\(KeyringFault.unlockCommand)."
            }
            return
                "The keyring's program does not offer the collection in \(path)/\(name): the file is probably damaged. Do not create another keyring: it would replace this one. Keep a copy of the file, restore it from a backup, restart the program, and try again."
        }

        /// The file name of gnome-keyring's default collection.
        var defaultFile: String { "\(defaultName).keyring" }

        /// The name of the default collection, which the file `default` contains. Without that file, `login`: the
        /// collection that the daemon creates when the user logs in.
        private var defaultName: String {
            let named = path.flatMap { try? files.read($0 + "/default") }.map { String(decoding: $0.bytes, as: UTF8.self) }
            let name = named.map { String($0.prefix { $0 != "\n" && $0 != "/" }) } ?? ""
            return name.isEmpty ? "login" : name
        }
    }
#endif
