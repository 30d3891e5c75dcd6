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

    /// Whether no other user can write to a file, or replace files in a folder. A group whose ID equals the user's ID
    /// counts as the user.
    /// Reason: "Trust has exceptions for groups, sandboxes and Kubernetes" in Docs/Decisions/Files.md.
    package func areAlone(with status: FileStatus) -> Bool {
        let (sticky, group, others): (UInt32, UInt32, UInt32) = (0o1000, 0o020, 0o002)
        if status.isDirectory, status.permissions & sticky != 0 { return true }
        return status.permissions & (status.group == user ? others : others | group) == 0
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
    /// this is called when a store or a file is opened, and not for each read of a value.
    /// - Throws: ``BackendError`` with `untrusted`. The error names the file or folder, and says what to do.
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
    func requireTrust(of path: String, _ owners: TrustedOwners) throws(BackendError) {
        let what = isDirectory ? "folder" : "file"
        guard owners.own(self) else {
            // Root that takes a file away from a service stops the service.
            let remedy =
                owners.user == 0
                ? "Run this program as user \(owner) (setpriv or runuser)."
                : "If it is data of that user, run this program as user \(owner). Otherwise check the \(what), and give it to one of them (chown)."
            throw BackendError(
                .untrusted,
                "The \(what) \(path) belongs to user \(owner), who could replace what is in it. Only this program's user and root are trusted. \(remedy) Nothing was read or changed."
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
