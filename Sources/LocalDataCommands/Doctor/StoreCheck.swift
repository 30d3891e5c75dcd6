import BackendRuntime
import DefaultsBackend
import Foundation
import LocalData
import SQLiteBackend

/// Checks the property lists and the databases of a program. Damaged files are neither copied nor changed.
struct StoreCheck: Sendable {
    let program: CheckedProgram
    private let files = PosixFileSystem()

    init(_ program: CheckedProgram) { self.program = program }

    // MARK: Property lists

    /// Checks the property lists of the program. In the folders of a session, these are the lists of all programs.
    func lists() -> [Finding] {
        let preferences = program.directories.preferences
        var found: [Finding] = []
        for name in ((try? files.list(preferences)) ?? []).sorted() where name.hasSuffix(".plist") {
            let suite = String(name.dropLast(".plist".count))
            guard (try? PropertyListStore.validateSuiteName(suite)) != nil else { continue }
            let command = program.command("damaged", "set-aside", "defaults:\(suite)", "--yes")
            if let finding = list("list \(suite)", "\(preferences)/\(name)", command) { found.append(finding) }
        }
        for path in program.ownLists {
            let command = ShellCommand.line(["mv", "-n", path, unused(path)])
            if let finding = list("list \(path)", path, command) { found.append(finding) }
        }
        return found.isEmpty ? [.ok("lists in \(preferences)", "They can be read.")] : found
    }

    private func list(_ name: String, _ path: String, _ command: String) -> Finding? {
        do throws(FileError) {
            guard let status = try files.status(path), status.size <= Self.largestList else { return nil }
            // Foundation overwrites the bytes of a list. A list that it is writing is damaged for a moment.
            for _ in 0..<10 {
                guard let contents = try files.read(path), !PropertyListStore.isPropertyList(contents.bytes) else { return nil }
                usleep(50_000)
            }
            return .problem(
                name, "Its file \(path) is damaged: restore it from a backup; without a backup, the command moves it away and keeps it.",
                command)
        } catch {
            guard error.number == EACCES, let status = (try? files.status(path)) ?? nil else {
                return .problem(name, "It cannot be read: \(error).")
            }
            let command =
                status.owner == geteuid()
                ? ShellCommand.line(["chmod", "u+rw", path]) : ShellCommand.giving([path], to: program.owner)
            return .problem(name, "User \(ShellCommand.describedUser(geteuid())) may not read its file \(path).", command)
        }
    }

    private static let largestList: Int64 = 256 << 20

    /// Warns if the quarantine is more than half full. A full one stops migrations.
    func quarantine() -> [Finding] {
        let path = "\(program.directories.data)/quarantine/quarantine.plist"
        guard let status = (try? files.status(path)) ?? nil, status.size <= Self.largestList,
            let contents = (try? files.read(path)) ?? nil,
            let list = try? PropertyListSerialization.propertyList(from: Data(contents.bytes), format: nil) as? [String: Any]
        else { return [] }
        let entries = list.keys.count { $0.hasPrefix("q") }
        guard entries > QuarantineLimit.entries / 2 || contents.bytes.count > QuarantineLimit.bytes / 2 else { return [] }
        return [
            .warning(
                "quarantine",
                "It has \(entries) values in \(contents.bytes.count >> 20) MiB. When it is full, migrations stop: review the values, and purge "
                    + "those that are not needed.", program.command("quarantine", "list"))
        ]
    }

    /// Returns a name beside a path that no file has.
    private func unused(_ path: String) -> String {
        for number in 1... {
            let name = path + (number == 1 ? ".damaged" : ".damaged-\(number)")
            if ((try? files.status(name)) ?? nil) == nil { return name }
        }
        return path
    }

    // MARK: Databases

    #if SQLite
        /// The folders of databases and of vaults, which are databases that replace the keyring.
        private var folders: [String] { ["databases", "vaults"].map { "\(program.directories.data)/\($0)" } }

        /// Reads the databases of the program.
        func databases() -> [StoredDatabase] {
            let deadline = Date(timeIntervalSinceNow: 3)
            var paths: Swift.Set<String> = []
            for folder in folders {
                for name in (try? files.list(folder)) ?? [] where !name.hasPrefix(".") {
                    if name.hasSuffix(".sqlite") { paths.insert("\(folder)/\(name)") }
                    // A log without its database is damage, too.
                    if name.hasSuffix(".sqlite-wal"), ((try? files.status("\(folder)/\(name)")) ?? nil)?.size ?? 0 > 0 {
                        paths.insert("\(folder)/\(name.dropLast("-wal".count))")
                    }
                }
            }
            return paths.sorted().map { StoredDatabase(reading: $0, until: deadline) }
        }

        /// Returns the findings for databases.
        func findings(_ databases: [StoredDatabase]) -> [Finding] {
            databases.map { (database) -> Finding in
                let name = "database \(database.name)"
                if let damage = database.damage {
                    return .problem(
                        name,
                        damage + " Stop the program, and restore the database from a backup; "
                            + "without a backup, the command moves it away and keeps it.", movingAway(database))
                }
                if let gap = database.gap { return .warning(name, "It was not checked completely: \(gap).", verifying(database)) }
                return .ok(name, "Its pages are not damaged; localdata verify checks its rows.")
            }
        }

        /// Returns the problems of databases that the ledger records and whose file does not exist.
        func lostDatabases() -> [Finding] {
            let ledger = "\(program.directories.state)/ledger.plist"
            guard let contents = (try? files.read(ledger)) ?? nil,
                let list = try? PropertyListSerialization.propertyList(from: Data(contents.bytes), format: nil) as? [String: Any]
            else { return [] }
            let recorded = list.filter { $0.key.hasPrefix("domain:") }.compactMap { $0.value as? [String] }
            let names = recorded.filter { $0.count == 2 && $0[0] == StorageDomain.Kind.encryptedSQLite.name }.map { $0[1] }
            return names.sorted().compactMap { (name) -> Finding? in
                let path = "\(folders[0])/\(name).sqlite"
                guard ((try? files.status(path)) ?? nil) == nil else { return nil }
                let message =
                    "It is lost: the ledger records it, and there is no file \(path). Restore it from a backup, before the program creates "
                    + "an empty one."
                // The command of the finding for a damaged database has moved it away.
                return unused(path) == path + ".damaged"
                    ? .problem("database \(name)", message) : .warning("database \(name)", message + " It was damaged, and moved away.")
            }
        }

        /// Returns the command that checks all rows of a database; nil if its application is unknown.
        private func verifying(_ database: StoredDatabase) -> String? {
            guard let application = database.application, parentDirectory(of: database.path) == folders[0] else { return nil }
            let owner = program.options.contains("--app-id") ? [] : ["--app-id", application]
            return ShellCommand.tool(["verify", "sqlite:\(database.name)"] + program.options + owner)
        }

        /// Returns the command that renames the files of a database.
        private func movingAway(_ database: StoredDatabase) -> String {
            let target = unused(database.path)
            let parts = ["", "-wal", "-shm", "-journal"].filter { ((try? files.status(database.path + $0)) ?? nil) != nil }
            return parts.map { ShellCommand.line(["mv", "-n", database.path + $0, target + $0]) }.joined(separator: " && ")
        }
    #endif

    // MARK: An interrupted restore

    /// Checks that no restore was interrupted. After an interruption, no store opens.
    func restore() -> [Finding] {
        let path = RestoreMark.path(program.directories)
        guard ((try? files.status(path)) ?? nil) != nil else { return [] }
        return [
            .problem(
                "restore", "A restore was interrupted, so no store opens (\(path)): run the same restore again, and it continues.")
        ]
    }
}
