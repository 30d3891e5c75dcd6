#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData

    /// Checks the keyring of the session: its program, its lock, its password, and the sealing keys in it. No prompt opens.
    struct KeyringCheck: Sendable {
        static let check = "keyring"

        /// The service to ask for.
        let service: String
        let items: [KeyringNeed.Item]
        let bus = SessionBus()

        /// The programs that can keep secrets, by the first 15 bytes of their names.
        private static let keepers: Swift.Set = ["gnome-keyring-d", "oo7-daemon", "kwalletd", "kwalletd5", "kwalletd6", "keepassxc"]
        private static let gnome = "gnome-keyring-d"

        // MARK: The check

        /// Asks the keyring for its state.
        func findings() async -> [Finding] {
            // A folder that does not exist: the check must not touch the stores of a program.
            var configuration = StorageConfiguration(root: URL(fileURLWithPath: "/nonexistent/localdata-doctor"), applicationID: service)
            configuration.deadlines.keychain = .seconds(4)
            configuration.closesWhenReleased = false
            let router = StorageRouter(configuration: configuration)
            let domain = StorageDomain.keychain(service: service)
            let status = await router.status(of: domain)
            if case .unavailable(let error) = status { return [unavailable(error)] }
            let keyring = try? await router.keyring(of: domain)
            switch status {
            case .locked: return [locked(keyring)] + password(keyring)
            case .absent: return [absent(keyring)]
            default:
                var found = password(keyring)
                if let keyring, !keyring.valuesAtRisk.isEmpty {
                    found.append(
                        .problem(
                            Self.check,
                            "gnome-keyring will alter these values of \(service) at its next start: "
                                + "\(keyring.valuesAtRisk.joined(separator: ", ")). Copy them to another store, and remove them."))
                }
                for item in items { if let finding = await missing(item, router) { found.append(finding) } }
                let name = keyring?.provider ?? "An unknown program"
                return [.ok(Self.check, "\(name) keeps it, and it is not locked.")] + found
            }
        }

        /// Returns the finding for a keyring that did not answer before the deadline.
        func late() -> [Finding] { [silent()] }

        // MARK: States

        private func unavailable(_ error: StorageError) -> Finding {
            switch error.code {
            case .timedOut: return silent()
            case .untrusted, .accessDenied: return .problem(Self.check, error.message)
            default:
                let others = bus.processes(Self.keepers.subtracting([Self.gnome]))
                return others.isEmpty ? start : .problem(Self.check, error.message)
            }
        }

        private func silent() -> Finding {
            let keepers = bus.processes(Self.keepers)
            let stopped = keepers.filter(\.isStopped)
            if let first = stopped.first {
                return .problem(
                    Self.check, "The keyring does not answer: its program \(first.name), process \(first.id), is stopped.",
                    ShellCommand.line(["kill", "-CONT"] + stopped.map { "\($0.id)" }))
            }
            let message = "The keyring does not answer."
            let gnome = keepers.filter { $0.name == Self.gnome }
            if gnome.isEmpty { return .problem(Self.check, message) }
            return .problem(Self.check, message, unlockingCommand(ending: gnome, "-KILL"))
        }

        private func locked(_ keyring: KeyringDescription?) -> Finding {
            if Self.hasDisplay {
                return .problem(
                    Self.check, "It is locked: the command opens the prompt for its password.",
                    ShellCommand.tool(["unlock", "keychain:\(service)"]))
            }
            guard isGnome(keyring) else {
                return .problem(
                    Self.check,
                    "It is locked, and this session has no display for a prompt: unlock it in the desktop session of this user.")
            }
            return .problem(
                Self.check,
                "It is locked, and this session has no display for a prompt: the command reads the password, and starts the keyring again.",
                unlockingCommand())
        }

        private func absent(_ keyring: KeyringDescription?) -> Finding {
            let file = defaultFile
            if let file, isGnome(keyring), FileManager.default.fileExists(atPath: file) {
                let message = "Its program does not offer the collection in \(file)"
                if hasMark(file, Self.sealedMark) || hasMark(file, Self.plainMark) {
                    return .problem(
                        Self.check,
                        message + ", which another daemon may have created: the command ends the daemon, reads the password, and starts it "
                            + "again. If that does not help, the file is damaged: restore it from a backup.",
                        unlockingCommand(ending: bus.processes([Self.gnome])))
                }
                return .problem(
                    Self.check, message + ", which is damaged: restore the file from a backup, and do not create another keyring.")
            }
            guard isGnome(keyring) else {
                let provider = keyring?.provider ?? "the program that keeps it"
                return .problem(Self.check, "There is no default keyring: create one in \(provider).")
            }
            return .problem(
                Self.check, "There is no keyring yet: the command reads a new password, and creates one.", unlockingCommand())
        }

        /// The finding for a session in which no program keeps secrets.
        private var start: Finding {
            let message = "No program on the session bus keeps secrets: the command"
            guard ShellCommand.path(of: "gnome-keyring-daemon") != nil else {
                let command = ShellCommand.installing(debian: "gnome-keyring", fedora: "gnome-keyring")
                return .problem(Self.check, message + " installs gnome-keyring.", command)
            }
            return .problem(Self.check, message + " reads the password, and starts gnome-keyring.", unlockingCommand())
        }

        /// Returns a warning for a collection without a password, which gnome-keyring stores as plain text.
        private func password(_ keyring: KeyringDescription?) -> [Finding] {
            guard isGnome(keyring), let file = defaultFile, hasMark(file, Self.plainMark) else { return [] }
            let message = "The keyring has no password, so its file \(file) contains every secret in plain text."
            guard Self.hasDisplay else {
                return [.warning("keyring password", message + " Set one in the desktop session, or keep the secrets in a sealed vault.")]
            }
            let command =
                ShellCommand.path(of: "seahorse") == nil ? ShellCommand.installing(debian: "seahorse", fedora: "seahorse") : "seahorse"
            return [.warning("keyring password", message + " Set one in seahorse.", command)]
        }

        /// Returns the finding for a sealing key that databases need and that the keyring does not have.
        private func missing(_ item: KeyringNeed.Item, _ router: StorageRouter) async -> Finding? {
            let key = StorageKey<DocumentValue>(
                name: item.name, domain: .keychain(service: item.service), owner: "localdata", description: "A sealing key")
            guard (try? await router.holdsSealingKey(.key(key))) == false else { return nil }
            return .problem(
                "key source",
                "The keyring item \(item.name) of \(item.service), which opens \(item.databases.joined(separator: ", ")), is missing: "
                    + "the command asks for the key that you have kept, and stores it.",
                ShellCommand.line([
                    "secret-tool", "store", "--label=\(item.name)", "application", "LocalData", "service", item.service, "namespace",
                    "values", "account", item.name,
                ]))
        }

        // MARK: gnome-keyring

        private func isGnome(_ keyring: KeyringDescription?) -> Bool {
            keyring?.provider.map { $0.hasPrefix(Self.gnome) } ?? !bus.processes([Self.gnome]).isEmpty
        }

        private static var hasDisplay: Bool {
            ["DISPLAY", "WAYLAND_DISPLAY"].contains { systemEnvironmentVariable($0) != nil }
        }

        /// Returns the command that starts gnome-keyring with the password from the terminal or from standard input. It unlocks the
        /// collection `login`, or creates it.
        ///
        /// The option `--replace` ends the running daemon, which it finds through `XDG_RUNTIME_DIR`. It finds at most one.
        /// - Parameters:
        ///   - hung: The daemons to end first.
        ///   - signal: The signal for them, as an option of `kill`.
        private func unlockingCommand(ending hung: [RunningProcess] = [], _ signal: String? = nil) -> String {
            var ended = hung
            if ended.isEmpty {
                let running = bus.processes([Self.gnome])
                if running.count > 1 || systemEnvironmentVariable("XDG_RUNTIME_DIR") == nil { ended = running }
            }
            var words = ["kill"]
            if let signal { words.append(signal) }
            words += ended.map { "\($0.id)" }
            let start = ended.isEmpty ? "" : ShellCommand.line(words) + "; "
            return start
                + "(printf 'Password: ' >/dev/tty; stty -echo; IFS= read -r p; stty echo; printf %s \"$p\") 2>/dev/null"
                + " | gnome-keyring-daemon --replace --unlock --components=secrets"
        }

        /// The first bytes of the file of a collection without a password.
        private static let plainMark = Array("[keyring]".utf8)
        /// The first bytes of the file of a collection with a password.
        private static let sealedMark = Array("GnomeKeyring\n\r\0\n".utf8)

        private func hasMark(_ file: String, _ mark: [UInt8]) -> Bool {
            (try? PosixFileSystem().read(file, from: 0, count: mark.count)) == mark
        }

        /// The file of gnome-keyring's default collection; nil if no home directory is known.
        private var defaultFile: String? {
            let home = systemEnvironmentVariable("HOME").map { "\($0)/.local/share" }
            let own = systemEnvironmentVariable("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
            guard let data = own ?? home else { return nil }
            let file = (try? PosixFileSystem().read("\(data)/keyrings/default")) ?? nil
            let named = file.map { String(decoding: $0.bytes, as: UTF8.self) }
            let name = named.map { String($0.prefix { $0 != "\n" && $0 != "/" }) } ?? ""
            return "\(data)/keyrings/\(name.isEmpty ? "login" : name).keyring"
        }
    }
#endif
