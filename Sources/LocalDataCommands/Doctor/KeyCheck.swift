#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import Sealing
    import SQLiteBackend

    /// Checks the source of a program's sealing keys, and whether it has the keys that the databases need.
    struct KeyCheck: Sendable {
        static let check = "key source"

        let program: CheckedProgram
        /// The databases whose headers could be read.
        let databases: [StoredDatabase]
        private let files = PosixFileSystem()

        init(_ program: CheckedProgram, _ databases: [StoredDatabase]) {
            self.program = program
            self.databases = databases.filter { !$0.keys.isEmpty }
        }

        /// The names of the databases that keys of a source open.
        private func names(_ source: String) -> [String] { databases.filter { $0.keys[source] != nil }.map(\.name) }

        // MARK: The check

        /// Checks a key file, a credential or a passphrase file. The keyring is checked separately.
        func findings() -> [Finding] {
            let found: [Finding]
            let source: String
            switch program.configuration.keySource.form {
            case .keyFile(let path):
                source = "key file \(lastComponent(of: path))"
                found = keyFile(path.hasPrefix("/") ? path : "\(program.directories.data)/\(path)", source)
            case .credential(let name):
                source = "credential \(name)"
                found = credential(name, source)
            case .passphrase(let name):
                source = "passphrase \(name)"
                found = passphraseFile("\(program.directories.data)/\(name).passphrase", source)
            case .keychain(_, let name):
                source = "keyring item \(name)"
                found = []
            default: return []
            }
            return found + otherSources(source)
        }

        /// The items of the keyring that the program needs.
        var keyringNeed: KeyringNeed {
            var need = KeyringNeed()
            need.isNamed = databases.contains { $0.keys.keys.contains { $0.hasPrefix("keyring item ") } }
            if case .keychain(let service, let name) = program.configuration.keySource.form {
                let names = self.names("keyring item \(name)")
                let service = service ?? program.configuration.applicationID
                if !names.isEmpty { need.items = [KeyringNeed.Item(service: service, name: name, databases: names)] }
            }
            return need
        }

        // MARK: Databases of another source

        /// Returns the findings for databases that keys of the selected source cannot open.
        private func otherSources(_ source: String) -> [Finding] {
            let others = databases.filter { $0.keys[source] == nil }
            return others.map { (database) -> Finding in
                let sources = database.keys.keys.filter { $0 != RecoveryRecipient.source }.sorted()
                let message = "The key of database \(database.name) is in \(sources.joined(separator: " or ")), not in \(source)."
                let command = sources.compactMap(repeated).first
                // The program may use several sources.
                guard others.count == databases.count else { return .warning(Self.check, message, command) }
                return .problem(Self.check, message + " Name the program's key source.", command)
            }
        }

        /// Returns the command that repeats this call with another key source; nil if the tool has no option for it.
        private func repeated(_ source: String) -> String? {
            var options: [String]
            if source.hasPrefix("credential ") {
                options = ["--key-source", "credential:\(source.dropFirst("credential ".count))"]
            } else if source.hasPrefix("passphrase ") {
                options = ["--key-source", "passphrase:\(source.dropFirst("passphrase ".count))"]
            } else if source.hasPrefix("key file ") {
                let path = "\(program.directories.data)/\(source.dropFirst("key file ".count))"
                guard (try? files.status(path)) != nil else { return nil }
                options = ["--key-source", "file:\(path)"]
            } else {
                return nil
            }
            // The options of the key source are the last ones.
            let old: Swift.Set = ["--key-source", "--passphrase"]
            let kept = program.options.firstIndex { old.contains($0) }.map { Array(program.options[..<$0]) } ?? program.options
            if program.options.contains("--vault") { options.append("--vault") }
            return ShellCommand.tool(["doctor"] + kept.filter { $0 != "--vault" } + options)
        }

        // MARK: Files

        private func keyFile(_ path: String, _ source: String) -> [Finding] {
            let needed = names(source)
            do throws(FileError) {
                guard let status = try files.status(path) else {
                    guard !needed.isEmpty || isRecorded("key file \(path)") else { return absent("key file \(path)") }
                    let own = "\(program.directories.data)/\(lastComponent(of: path))"
                    guard !needed.isEmpty, path != own, try files.status(own) != nil else {
                        return [missing("The key file \(path)", needed)]
                    }
                    let message = "There is no key file \(path). The program has the key file \(own), which has the same name."
                    return [.problem(Self.check, "\(message) Name the program's key source.", repeated(source))]
                }
                if let exposed = self.exposed(path, status, "key file") { return [exposed] }
                return [try content(path, source, "key file"), untrusted(path)].compactMap(\.self)
            } catch { return [unreadable(path, error)] }
        }

        private func passphraseFile(_ path: String, _ source: String) -> [Finding] {
            let needed = names(source)
            do throws(FileError) {
                guard let status = try files.status(path) else {
                    if needed.isEmpty { return absent("file \(path)") }
                    return [missing("The passphrase file \(path)", needed)]
                }
                if let exposed = self.exposed(path, status, "passphrase file") { return [exposed] }
                _ = try files.read(path, from: 0, count: 1)
                return [.ok(Self.check, "The passphrase file \(path) exists. The passphrase was not asked for.")]
            } catch { return [unreadable(path, error)] }
        }

        private func credential(_ name: String, _ source: String) -> [Finding] {
            guard let folder = systemEnvironmentVariable("CREDENTIALS_DIRECTORY"), folder.hasPrefix("/") else {
                return [
                    .problem(
                        Self.check,
                        "CREDENTIALS_DIRECTORY is not set, so there is no credential \(name): run the command as the service manager does.",
                        underSystemd(name))
                ]
            }
            let path = "\(folder)/\(name)"
            let needed = names(source)
            do throws(FileError) {
                guard try files.status(path) != nil else {
                    if !needed.isEmpty { return [missing("The credential \(path)", needed)] }
                    // Another source opens the databases, and is named below.
                    if !databases.isEmpty { return [] }
                    let key = ShellCommand.tool(["keys", "new"])
                    return [
                        .problem(
                            Self.check, "There is no credential \(path): the command creates a key, of which you must keep a copy.",
                            "(umask 077; set -C; \(key) > \(ShellCommand.quoted(path)))")
                    ]
                }
                return [try content(path, source, "credential"), untrusted(path)].compactMap(\.self)
            } catch { return [unreadable(path, error)] }
        }

        /// Returns the command that runs this call with a credential of this machine; nil if no such credential is stored.
        private func underSystemd(_ name: String) -> String? {
            let options = [("LoadCredentialEncrypted", "/etc/credstore.encrypted"), ("LoadCredential", "/etc/credstore")]
            for (option, folder) in options {
                for path in ["\(folder)/\(name).cred", "\(folder)/\(name)"] where (try? files.status(path)) != nil {
                    let user = ShellCommand.describedUser(program.owner)
                    let properties = ["-p", "User=\(user)", "-p", "\(option)=\(name):\(path)"]
                    return ShellCommand.asRoot(["systemd-run", "--pipe", "--wait"] + properties + ShellCommand.thisCall)
                }
            }
            return nil
        }

        // MARK: Findings

        /// Returns the finding for a file that the first sealed value creates; none if another source opens the databases.
        private func absent(_ what: String) -> [Finding] {
            databases.isEmpty ? [.ok(Self.check, "There is no \(what) yet: the first sealed value creates it.")] : []
        }

        private func missing(_ what: String, _ needed: [String]) -> Finding {
            let opened = needed.isEmpty ? "sealed values" : needed.joined(separator: ", ")
            return .problem(
                Self.check, "\(what), which opens \(opened), is missing: restore it from the copy that you have kept, or from a backup.")
        }

        /// Returns the finding for a file that other users can use; nil if it is private.
        private func exposed(_ path: String, _ status: FileStatus, _ what: String) -> Finding? {
            guard status.permissions & 0o077 != 0 else { return nil }
            return .problem(
                Self.check,
                "The \(what) \(path) can be used by others, so programs refuse it: make it private, and rotate its key if it was read.",
                ShellCommand.changingPermissions("600", of: [path], owner: status.owner))
        }

        /// Returns the finding for a file outside the program's folders that another user could change.
        private func untrusted(_ path: String) -> Finding? {
            var owners = files.trustedOwners
            owners.user = program.owner
            guard !path.hasPrefix(program.directories.data + "/"), let status = (try? files.status(path)) ?? nil else { return nil }
            if !owners.own(status) {
                return .problem(
                    Self.check, "The file \(path) belongs to user \(ShellCommand.describedUser(status.owner)), so programs refuse it.",
                    ShellCommand.giving([path], to: owners.user))
            }
            var writers = WriterSearch(files, trusting: owners)
            guard let others = (try? writers.others(path, status: status)) ?? nil else { return nil }
            return .problem(
                Self.check, "\(others) can write to the file \(path), so programs refuse it.",
                ShellCommand.changingPermissions("go-w", of: [path], owner: status.owner))
        }

        private func unreadable(_ path: String, _ error: FileError) -> Finding {
            let owner = ((try? files.status(path)) ?? nil).map { ShellCommand.asUser($0.owner, group: $0.group, ShellCommand.thisCall) }
            return .problem(Self.check, "The file \(path) cannot be read: \(error).", error.number == EACCES ? owner : nil)
        }

        /// Checks that a file contains keys, and that they open the databases.
        private func content(_ path: String, _ source: String, _ what: String) throws(FileError) -> Finding {
            guard var contents = try files.read(path) else { return missing("The \(what) \(path)", names(source)) }
            defer { wipe(&contents.bytes) }
            guard let ids = Self.keyIDs(contents.bytes) else {
                return .problem(Self.check, "The \(what) \(path) does not contain keys of this library: restore it from a backup.")
            }
            let closed = databases.filter { $0.keys[source].map { $0.isDisjoint(with: ids) } ?? false }.map(\.name)
            guard closed.isEmpty else {
                return .problem(
                    Self.check,
                    "The \(what) \(path) contains another key than the one that opens \(closed.joined(separator: ", ")): "
                        + "restore the right key from a backup.")
            }
            return .ok(Self.check, "The \(what) \(path) contains \(ids.count == 1 ? "a key" : "\(ids.count) keys").")
        }

        /// Returns the ids of the keys in the text of a source; nil if a line is not a key. The keys themselves are not decoded.
        private static func keyIDs(_ bytes: [UInt8]) -> Swift.Set<[UInt8]>? {
            var ids: Swift.Set<[UInt8]> = []
            for line in bytes.split(whereSeparator: { "\r\n".utf8.contains($0) }) {
                let parts = line.split(whereSeparator: { " \t".utf8.contains($0) })
                if parts.isEmpty { continue }
                let isKey = parts.count == 3 && parts[0].elementsEqual("LocalData-key-1".utf8) && parts[2].count == 44
                guard isKey, let id = BackendContract.bytes(ofHexadecimal: String(decoding: parts[1], as: UTF8.self)),
                    id.count == SealingKey.idLength
                else { return nil }
                ids.insert(id)
            }
            return ids.isEmpty ? nil : ids
        }

        /// Returns whether it is recorded that a source had a key: in the list of keys, or by an earlier release in the ledger.
        private func isRecorded(_ identifier: String) -> Bool {
            ["pins.plist", "ledger.plist"].contains { name in
                guard let contents = (try? files.read("\(program.directories.state)/\(name)")) ?? nil else { return false }
                let list = try? PropertyListSerialization.propertyList(from: Data(contents.bytes), format: nil)
                return (list as? [String: Any])?["pin:\(identifier)"] != nil
            }
        }
    }
#endif
