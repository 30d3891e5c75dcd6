import BackendRuntime
import Foundation
import LocalData

/// Checks the owners and the permissions of a program's folders and files, by the rules of `FileSystem.requireTrust(in:)`.
struct FolderCheck: Sendable {
    let program: CheckedProgram
    private let files = PosixFileSystem()

    init(_ program: CheckedProgram) { self.program = program }

    /// The files and folders below one folder that have the same defect.
    private struct Defects {
        /// They belong to another user, who is not root.
        var foreign: [Entry] = []
        /// They belong to root, so the program's user cannot use them.
        var ofRoot: [Entry] = []
        /// Other users can write to them.
        var open: [Entry] = []
        /// The users who can write to the first of them.
        var writers: OtherWriters?
        /// Their owner cannot use them.
        var shut: [Entry] = []
    }

    private struct Entry {
        let path: String
        let status: FileStatus
    }

    /// The folders that only the program's user and root may change.
    private var folders: [String] {
        let directories = program.directories
        return [directories.data, directories.state, directories.locks]
    }

    private var name: String { "folder \(program.directories.data)" }

    // MARK: The check

    /// Checks the folders, the folders above them, and everything in them.
    func findings() -> [Finding] {
        if let base = program.base, let other = otherUser(base.path, base.status) { return [other] }
        let owners = trustedOwners
        let isEmpty = ((try? files.status(program.directories.data)) ?? nil) == nil
        var found = above(owners)
        if isEmpty, missing.finding == .problem { found.append(missing) }
        for folder in folders { found += findings(of: defects(below: folder, owners), in: folder, owners.user) }
        if let preferences = preferences(owners.user) { found.append(preferences) }
        guard found.isEmpty else { return found }
        if isEmpty { return [missing] }
        return [.ok(name, "It belongs to \(ShellCommand.describedUser(owners.user)), and no other user can change it.")]
    }

    private var trustedOwners: TrustedOwners {
        var owners = files.trustedOwners
        owners.user = program.owner
        return owners
    }

    /// The finding for a program that has no data folder yet.
    private var missing: Finding {
        let data = program.directories.data
        var ancestor = parentDirectory(of: data)
        while ancestor != "/", ((try? files.status(ancestor)) ?? nil) == nil { ancestor = parentDirectory(of: ancestor) }
        if access(ancestor, W_OK | X_OK) == 0 { return .ok(name, "It does not exist yet.") }
        let user = ShellCommand.describedUser(geteuid())
        return .problem(
            name, "It does not exist, and user \(user) cannot create it in \(ancestor).",
            ShellCommand.asRoot(["install", "-d", "-m", "700", "-o", user, data]))
    }

    /// Returns the finding for storage of another user; nil if it belongs to this user.
    private func otherUser(_ path: String, _ status: FileStatus) -> Finding? {
        let me = geteuid()
        guard status.owner != me else { return nil }
        let (user, owner) = (ShellCommand.describedUser(me), ShellCommand.describedUser(status.owner))
        let parent = (try? files.status(parentDirectory(of: path))) ?? nil
        // A folder of root in a folder of this user was probably created by a call of the tool as root.
        if status.owner == 0, parent?.owner == me {
            return .problem(
                name, "The folder \(path) belongs to root, so user \(user) cannot use it.",
                ShellCommand.asRoot(["chown", "-R", "\(user):", path]))
        }
        return .problem(
            name, "The folder \(path) belongs to user \(owner), and this command runs as \(user): run it as \(owner).",
            ShellCommand.asUser(status.owner, group: status.group, ShellCommand.thisCall))
    }

    // MARK: The folders above

    private func above(_ owners: TrustedOwners) -> [Finding] {
        var found: [Finding] = []
        var checked: Swift.Set = ["/"]
        for start in folders.flatMap({ [$0, files.resolve($0)] }) {
            var path = parentDirectory(of: start)
            while checked.insert(path).inserted {
                if let status = (try? files.status(path)) ?? nil, let finding = above(path, status, owners) { found.append(finding) }
                path = parentDirectory(of: path)
            }
        }
        return found
    }

    private func above(_ path: String, _ status: FileStatus, _ owners: TrustedOwners) -> Finding? {
        let name = "folder \(path)"
        guard owners.own(status) else {
            let (owner, user) = (ShellCommand.describedUser(status.owner), ShellCommand.describedUser(owners.user))
            return .problem(
                name,
                "It belongs to user \(owner), who could replace the data of \(user): keep the data in a folder of \(user) or of root.")
        }
        var writers = WriterSearch(files, trusting: owners)
        guard let others = (try? writers.others(path, status: status)) ?? nil else { return nil }
        return .problem(
            name, "\(others) can write to it, and so replace the data in it.",
            ShellCommand.changingPermissions("go-w", of: [path], owner: status.owner))
    }

    // MARK: The content

    /// The largest number of files that are checked in one folder.
    private static let limit = 10_000

    private func defects(below folder: String, _ owners: TrustedOwners) -> Defects {
        var defects = Defects()
        var waiting = [folder]
        var visited: Swift.Set<[UInt64]> = []
        var writers = WriterSearch(files, trusting: owners)
        while let path = waiting.popLast(), visited.count < Self.limit {
            guard let status = (try? files.status(path)) ?? nil, visited.insert([status.device, status.inode]).inserted else { continue }
            let entry = Entry(path: path, status: status)
            if !owners.own(status) {
                defects.foreign.append(entry)
            } else if status.owner != owners.user {
                defects.ofRoot.append(entry)
            } else if !Self.isUsable(path, status) {
                defects.shut.append(entry)
            }
            if let others = (try? writers.others(path, status: status)) ?? nil {
                defects.open.append(entry)
                defects.writers = defects.writers ?? others
            }
            if status.isDirectory { waiting += ((try? files.list(path)) ?? []).sorted(by: >).map { "\(path)/\($0)" } }
        }
        return defects
    }

    /// Returns whether the permissions allow the owner to use a file. Databases and locks are written, and other files are replaced.
    private static func isUsable(_ path: String, _ status: FileStatus) -> Bool {
        let isWritten = [".sqlite", ".sqlite-wal", ".sqlite-shm", ".lock", "-lock"].contains { path.hasSuffix($0) }
        let needed: UInt32 = status.isDirectory ? 0o700 : isWritten ? 0o600 : 0o400
        return status.permissions & needed == needed
    }

    private func findings(of defects: Defects, in folder: String, _ user: UInt32) -> [Finding] {
        let (name, described) = ("folder \(folder)", ShellCommand.describedUser(user))
        var found: [Finding] = []
        func add(_ message: String, command: String) { found.append(.problem(name, message, command)) }
        if let first = defects.foreign.first {
            let owner = ShellCommand.describedUser(first.status.owner)
            add(
                "\(Self.described(defects.foreign)) to user \(owner), who could have changed the content: check it, then take it back.",
                command: ShellCommand.giving(Self.paths(defects.foreign, in: folder), to: user))
        }
        if !defects.ofRoot.isEmpty {
            add(
                "\(Self.described(defects.ofRoot)) to root, so \(described) cannot use it.",
                command: ShellCommand.giving(Self.paths(defects.ofRoot, in: folder), to: user))
        }
        if let first = defects.open.first, let writers = defects.writers {
            add(
                "\(writers) can write to \(Self.listed(defects.open)), so programs refuse it: check the content first.",
                command: ShellCommand.changingPermissions("go-w", of: Self.paths(defects.open), owner: first.status.owner))
        }
        if let first = defects.shut.first {
            add(
                "The permissions of \(Self.listed(defects.shut)) do not let \(described) use it.",
                command: ShellCommand.changingPermissions("u+rwX", of: Self.paths(defects.shut), owner: first.status.owner))
        }
        return found
    }

    private static func described(_ entries: [Entry]) -> String {
        let what = entries.first?.status.isDirectory == true ? "The folder" : "The file"
        return "\(what) \(listed(entries)) \(entries.count == 1 ? "belongs" : "belong")"
    }

    private static func listed(_ entries: [Entry]) -> String {
        let first = entries.first?.path ?? ""
        return entries.count == 1 ? first : "\(first) and \(entries.count - 1) more"
    }

    /// The largest number of paths in a command.
    private static let listedPaths = 20

    private static func paths(_ entries: [Entry]) -> [String] { entries.map(\.path) }

    /// Returns the arguments of `chown`: the paths, or the whole folder if there are many.
    private static func paths(_ entries: [Entry], in folder: String) -> [String] {
        entries.count > listedPaths ? ["-R", folder] : paths(entries)
    }

    /// Checks the folder of the property lists, which may belong to several programs.
    private func preferences(_ user: UInt32) -> Finding? {
        let path = program.directories.preferences
        guard let status = (try? files.status(path)) ?? nil else { return nil }
        let described = ShellCommand.describedUser(user)
        if status.owner != user, status.permissions & 0o002 == 0 {
            return .problem(
                "folder \(path)", "It belongs to \(ShellCommand.describedUser(status.owner)), so \(described) cannot write property lists.",
                ShellCommand.giving([path], to: user))
        }
        guard status.owner == user, status.permissions & 0o700 != 0o700 else { return nil }
        return .problem(
            "folder \(path)", "Its permissions do not let \(described) use it.",
            ShellCommand.changingPermissions("u+rwx", of: [path], owner: user))
    }
}
