package import BackendContract

/// The owners whose files and folders a program trusts, as ssh does: its own user, and root.
package struct TrustedOwners: Hashable, Sendable {
    /// The program's user.
    package var user: UInt32
    /// The number that stands for all owners that the process's user namespace does not know. Only folders of such an owner are trusted: in
    /// a sandbox of one's own user (Flatpak), the machine's root owns `/` and `/home` under this number. Nil where root is known.
    package var unknownOwner: UInt32?

    /// Names the owners.
    package init(user: UInt32, unknownOwner: UInt32? = nil) {
        self.user = user
        self.unknownOwner = unknownOwner
    }

    /// The owners for a process.
    /// - Parameters:
    ///   - user: The process's user.
    ///   - map: The content of `/proc/self/uid_map`: the first number inside, the first one outside, and how many. Nil where there is none.
    ///   - unknownOwner: The number that the system gives to owners that are not in the map.
    init(user: UInt32, map: String?, unknownOwner: UInt32) {
        let knowsRoot = map?.split(separator: "\n").contains { $0.split(separator: " ").dropFirst().first == "0" } ?? true
        self.init(user: user, unknownOwner: knowsRoot ? nil : unknownOwner)
    }

    /// Whether a file or a folder belongs to one of the owners.
    package func own(_ status: FileStatus) -> Bool {
        status.owner == 0 || status.owner == user || status.isDirectory && status.owner == unknownOwner
    }

    /// Whether others than the owners can write to a file or a folder, or replace what is in it. The group with the number of the user is
    /// the user's own: systems make one for each user, and `fsGroup` of Kubernetes is such a group.
    package func areAlone(with status: FileStatus) -> Bool {
        let (sticky, group, others): (UInt32, UInt32, UInt32) = (0o1000, 0o020, 0o002)
        if status.isDirectory, status.permissions & sticky != 0 { return true }
        return status.permissions & (status.group == user ? others : others | group) == 0
    }
}

extension FileSystem {
    /// Checks, as ssh does, that nobody but the user and root can change or replace what is at some paths: these and all folders above them
    /// belong to one of the two, and no other user can write to them. A folder with the sticky bit may be open to all, since there only the owner of a
    /// file can replace it. Where a path leads through symbolic links, the folders that it names and those that it leads to are checked.
    ///
    /// What does not exist yet is not checked, the folders above it are. One `stat` for each part of the paths: called when something is
    /// opened, never when it is read.
    /// - Throws: ``BackendError`` with `untrusted`, with the path of the file or folder and the command that corrects it.
    package func requireTrust(in paths: [String]) throws(BackendError) {
        let owners = trustedOwners
        var checked: Set<String> = []
        for path in paths.flatMap({ [$0, resolve($0)] }) {
            var part = path
            while checked.insert(part).inserted {
                let found: FileStatus?
                do throws(FileError) { found = try status(part) } catch { throw error.backendError() }
                if let found { try found.requireTrust(of: part, owners) }
                part = parentDirectory(of: part)
            }
        }
    }
}

extension FileStatus {
    fileprivate func requireTrust(of path: String, _ owners: TrustedOwners) throws(BackendError) {
        let what = isDirectory ? "folder" : "file"
        guard owners.own(self) else {
            throw BackendError(
                .untrusted,
                "The \(what) \(path) belongs to user \(owner), who could replace what is in it. Only this program's user and root are trusted: check the \(what), and give it to one of them (chown). Nothing was read or changed."
            )
        }
        guard owners.areAlone(with: self) else {
            throw BackendError(
                .untrusted,
                "Other users can write to the \(what) \(path), so what is in it cannot be trusted. Check it, and take that permission away (chmod go-w). Nothing was read or changed."
            )
        }
    }
}
