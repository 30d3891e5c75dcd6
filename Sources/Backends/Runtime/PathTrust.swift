package import BackendContract

/// The owners whose files and folders a program trusts: its user, and root. OpenSSH trusts the same owners.
package struct TrustedOwners: Hashable, Sendable {
    /// The user ID of the program.
    package var user: UInt32
    /// The user ID that stands for all owners outside the process's user namespace. Folders of this owner are
    /// trusted, files are not: in a sandbox (Flatpak), the machine's root appears under this ID as the owner of `/`
    /// and `/home`. Nil if the namespace contains the machine's root.
    package var unknownOwner: UInt32?

    /// Creates a set of trusted owners.
    package init(user: UInt32, unknownOwner: UInt32? = nil) {
        self.user = user
        self.unknownOwner = unknownOwner
    }

    /// Determines the trusted owners for a process.
    /// - Parameters:
    ///   - user: The user ID of the process.
    ///   - map: The content of `/proc/self/uid_map`. Each line maps a range of user IDs: the first ID inside the
    ///     namespace, the first ID outside, and the number of IDs. Nil if there is no such file.
    ///   - unknownOwner: The user ID that the system reports for owners that are not in the map.
    init(user: UInt32, map: String?, unknownOwner: UInt32) {
        let knowsRoot = map?.split(separator: "\n").contains { $0.split(separator: " ").dropFirst().first == "0" } ?? true
        self.init(user: user, unknownOwner: knowsRoot ? nil : unknownOwner)
    }

    /// Whether a file or folder belongs to a trusted owner.
    /// Reason: "Trust has exceptions for groups, sandboxes and Kubernetes" in Docs/Decisions/Files.md.
    package func own(_ status: FileStatus) -> Bool {
        status.owner == 0 || status.owner == user || status.isDirectory && status.owner == unknownOwner
    }
}

/// The users who can write to a file, or replace files in a folder, besides its owner and root.
package enum OtherWriters: Hashable, Sendable, CustomStringConvertible {
    /// The permissions let all users write.
    case everyone
    /// The access control list lets a user write.
    case user(UInt32)
    /// The permissions or the access control list let a group write that has, or may have, other members.
    case group(UInt32)

    /// The subject of a sentence: "Other users".
    package var description: String {
        switch self {
        case .everyone: "Other users"
        case .user(let id): "By its access control list, user \(id)"
        case .group(let id): "The members of group \(id)"
        }
    }
}

/// Finds the users who can write to files and folders. Each group is searched for members once.
package struct WriterSearch {
    private let files: any FileSystem
    private let owners: TrustedOwners
    /// Whether a group that was asked for is private.
    private var known: [UInt32: Bool] = [:]

    /// Creates a search.
    /// - Parameters:
    ///   - owners: The owners who may write.
    package init(_ files: any FileSystem, trusting owners: TrustedOwners) { (self.files, self.owners) = (files, owners) }

    /// Returns the users besides the trusted owners who can write to a file, or replace files in a folder; nil if there are none.
    ///
    /// A group counts as the user if its number is the user's number, and no other user is a member. Only a path that its group can
    /// write costs more than its status: without that right, its access control list lets no other user write.
    /// Reason: "Access control lists are read only if the group can write" in Docs/Decisions/Files.md.
    /// - Parameter status: The status of the file or folder at the path.
    package mutating func others(_ path: String, status: FileStatus) throws(FileError) -> OtherWriters? {
        let (sticky, group, others): (UInt32, UInt32, UInt32) = (0o1000, 0o020, 0o002)
        if status.isDirectory, status.permissions & sticky != 0 { return nil }
        if status.permissions & others != 0 { return .everyone }
        guard status.permissions & group != 0 else { return nil }
        let list = try files.accessControlList(path)
        if let user = list?.writingUsers.first(where: { $0 != owners.user && $0 != 0 }) { return .user(user) }
        let groups = (list?.isWritableForGroup ?? true ? [status.group] : []) + (list?.writingGroups ?? [])
        for group in groups where try !isPrivate(group) { return .group(group) }
        return nil
    }

    private mutating func isPrivate(_ group: UInt32) throws(FileError) -> Bool {
        guard group == owners.user else { return false }
        if let known = known[group] { return known }
        let found = try files.isPrivate(group, of: owners.user)
        known[group] = found
        return found
    }
}

extension FileSystem {
    /// Checks that only the user and root can change or replace the files at some paths, as OpenSSH does.
    ///
    /// Each path and all folders above it must belong to the user or to root, and no other user may be able to write
    /// to them. A folder with the sticky bit may be writable for all, because only the owner of a file can replace it
    /// there. If a path contains symbolic links, the folders of the path and of its target are checked.
    /// Reason: "Trust covers a file and every folder above it" in Docs/Decisions/Files.md.
    ///
    /// Missing parts of a path are skipped, but the folders above them are checked. Each part costs one `stat`, so
    /// this is called when a store or a file is opened, and not for each read of a value. A part that its group can
    /// write also costs a read of its access control list, and the group a read of the user database.
    /// - Throws: ``BackendError`` with `untrusted`. The error names the file or folder, and says what to do.
    package func requireTrust(in paths: [String]) throws(BackendError) {
        let owners = trustedOwners
        var writers = WriterSearch(self, trusting: owners)
        func refusal(of part: String) throws(FileError) -> BackendError? {
            guard let found = try status(part) else { return nil }
            if let refusal = found.refusal(of: part, trusting: owners) { return refusal }
            return try writers.others(part, status: found)?.refusal(of: part, status: found)
        }
        func require(_ part: String) throws(BackendError) {
            let refused: BackendError?
            do throws(FileError) { refused = try refusal(of: part) } catch { throw error.backendError() }
            if let refused { throw refused }
        }
        var checked: [String] = []
        checked.reserveCapacity(16)
        func requireAll(to path: String) throws(BackendError) {
            var part = path
            while !checked.contains(where: { $0.hasSameBytes(as: part) }) {
                checked.append(part)
                try require(part)
                part = parentDirectory(of: part)
            }
        }
        var folders: [String] = []
        for path in paths {
            try require(path)
            let folder = parentDirectory(of: path)
            // Most of the paths have the same folder, and to resolve a path takes longer than all other steps.
            if !folders.contains(where: { $0.hasSameBytes(as: folder) }) {
                folders.append(folder)
                try requireAll(to: folder)
                try requireAll(to: resolve(folder))
            }
            if isLink(path) { try requireAll(to: resolve(path)) }
        }
    }

    /// Checks that the files or folders at some paths belong to the user or to root. Symbolic links are followed, and missing files are
    /// skipped.
    ///
    /// Use it before a file is destroyed that may be open to other users, such as a property list.
    /// - Throws: ``BackendError`` with `untrusted`. The error names the file or folder, and says what to do.
    package func requireOwned(_ paths: [String]) throws(BackendError) {
        let owners = trustedOwners
        for path in paths {
            let found = try onDisk { () throws(FileError) in try status(path) }
            if let refusal = found?.refusal(of: path, trusting: owners) { throw refusal }
        }
    }
}

extension FileStatus {
    /// The word for the file in messages.
    fileprivate var noun: String { isDirectory ? "folder" : "file" }

    /// Returns the error for a file of an owner who is not trusted; nil if the owner is trusted.
    func refusal(of path: String, trusting owners: TrustedOwners) -> BackendError? {
        if owners.own(self) { return nil }
        // Root that takes a file away from a service stops the service.
        let remedy =
            owners.user == 0
            ? "Run this program as user \(owner) (setpriv or runuser)."
            : "If it is data of that user, run this program as user \(owner). Otherwise check the \(noun), and give it to one of them (chown)."
        return BackendError(
            .untrusted,
            "The \(noun) \(path) belongs to user \(owner), who could replace what is in it. Only this program's user and root are trusted. \(remedy) Nothing was read or changed."
        )
    }
}

extension OtherWriters {
    /// Returns the error for a file or folder to which these can write. `chmod g-w` takes the right from every entry of an access
    /// control list, because it changes the mask.
    fileprivate func refusal(of path: String, status: FileStatus) -> BackendError {
        BackendError(
            .untrusted,
            "\(self) can write to the \(status.noun) \(path), so what is in it cannot be trusted. Check it, and take that permission away (chmod go-w). Nothing was read or changed."
        )
    }
}
