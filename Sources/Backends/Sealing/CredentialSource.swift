package import BackendContract
package import BackendRuntime

/// A key that the service manager hands to the program: a credential of systemd, or a mounted secret of Kubernetes.
///
/// The key is ``SealingKey/text`` in the file, one line for each key, in `<directory>/<name>`. systemd puts the file there for `LoadCredential=`,
/// `LoadCredentialEncrypted=`, `SetCredential=` and `SetCredentialEncrypted=`, and names the directory in the environment variable
/// `CREDENTIALS_DIRECTORY`; in a container, set that variable to the folder where the secret is mounted, or give the folder.
///
/// The file is only read. The service manager sets its permissions: systemd gives 0400, Kubernetes 0644 or what `defaultMode` says, behind
/// symbolic links, in a folder whose mode (1777) lets every user write, but which no other program sees. So a file that
/// other users may read is accepted; one that they may write, or that belongs to another user than this program's and root, comes from neither
/// manager, and is refused.
package struct CredentialSource: KeySource {
    private let name: String
    private let directory: String?
    private let files: KeyFiles

    /// The credential's name and folder, in words.
    package let identifier: String
    /// The credential's name.
    package var pin: String { "credential \(name)" }
    /// `sealed`: the service manager decides whether the key is on this machine's disk, and how well it is protected there.
    package var protection: ProtectionLevel { .sealed }

    /// Names the credential; nothing is opened yet.
    /// - Parameters:
    ///   - name: The credential's name: a file name, no path.
    ///   - directory: The absolute path of the folder; nil for the one that the environment names.
    ///   - deadline: How long a call may take.
    ///   - runtime: The machine.
    /// - Throws: ``BackendError`` with `invalidName`.
    package init(name: String, directory: String? = nil, deadline: Duration, runtime: Runtime) throws(BackendError) {
        // Kubernetes keeps its own links and folders in the directory under names that begin with two dots.
        guard !name.isEmpty, name.utf8.count <= 255, name != ".", !name.hasPrefix(".."),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") })
        else {
            throw BackendError(
                .invalidName,
                "A credential's name is a file's name: 1 to 255 bytes without slashes, blanks and control characters, not beginning with two dots."
            )
        }
        let named = directory ?? runtime.host.environment["CREDENTIALS_DIRECTORY"]
        self.name = name
        self.directory = named.flatMap { $0.hasPrefix("/") ? $0 : nil }
        files = KeyFiles("credential", deadline: deadline, runtime: runtime)
        identifier = "credential \(name)" + (self.directory.map { " in \($0)" } ?? "")
    }

    /// Reads the keys; nil when the folder is there and holds no such credential.
    /// - Throws: ``BackendError``: `unavailable` at once when no folder is named, or it is not there; `accessDenied`; `untrusted`;
    ///   `encryptionKeyMismatch`.
    package func load() async throws(BackendError) -> SourceKeys? {
        guard let directory else {
            throw BackendError(
                .unavailable,
                "CREDENTIALS_DIRECTORY is not set to a folder, so there is no credential \(name). Start the program with LoadCredential=\(name):… in its systemd unit, or set the variable to the absolute path where the secret is mounted."
            )
        }
        return try await files.onLane(isMutation: false) { () throws(BackendError) in try read(in: directory) }
    }

    /// Always throws: the administrator makes a credential, not the program.
    /// - Throws: ``BackendError`` with `encryptionKeyMissing`, and how to make one.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        throw BackendError(
            .encryptionKeyMissing,
            "There is no \(identifier), and a program cannot make one for itself. Make a key with localdata key new; pass it with LoadCredential=\(name):<file>, with systemd-creds encrypt --name=\(name) and LoadCredentialEncrypted=, or as the entry \(name) of a Kubernetes secret; then start again."
        )
    }

    /// Always throws: the administrator changes a credential.
    /// - Throws: ``BackendError`` with `unsupported`, and what to do.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        throw BackendError(
            .unsupported,
            new.others.isEmpty
                ? "A program cannot change the \(identifier). Nothing needs its older keys any more: remove every line but the first where it is made, and start again."
                : "A program cannot change the \(identifier). Put a line of localdata key new before the one that is there where it is made, start again, and repeat this call."
        )
    }

    private func read(in directory: String) throws(BackendError) -> SourceKeys? {
        let path = "\(directory)/\(name)"
        guard var contents = try files.read(path) else {
            let folder: FileStatus?
            do throws(FileError) { folder = try files.runtime.files.status(directory) } catch { throw error.backendError() }
            guard folder?.isDirectory == true else {
                throw BackendError(
                    .unavailable,
                    "The folder of credentials \(directory) is not there. Check CREDENTIALS_DIRECTORY, or that the secret is mounted.")
            }
            return nil
        }
        defer { wipe(&contents.bytes) }
        try files.runtime.files.requireTrust(in: [path])
        return try SourceKeys(textBytes: contents.bytes)
    }
}
