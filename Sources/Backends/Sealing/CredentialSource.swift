package import BackendContract
package import BackendRuntime

/// A source of sealing keys in a credential of the service manager: a systemd credential or a mounted Kubernetes
/// secret.
///
/// The file `<directory>/<name>` contains one line for each key, in the format of ``SealingKey/text``. systemd creates
/// the file for `LoadCredential=`, `LoadCredentialEncrypted=`, `SetCredential=` and `SetCredentialEncrypted=`. It sets
/// the environment variable `CREDENTIALS_DIRECTORY` to the directory. In a container, set that variable to the folder
/// where the secret is mounted, or pass the folder.
///
/// The program only reads the file. The service manager sets its permissions. systemd uses mode 0400. Kubernetes uses
/// mode 0644 or its setting `defaultMode`, and the file's name is a symbolic link. The folder of a Kubernetes secret
/// has mode 1777: every user may write to it, but only programs in the container see it.
///
/// This source therefore accepts a file that other users can read. It throws `untrusted` for a file that other users
/// can write, or that belongs neither to this program's user nor to root. Neither service manager creates such files.
package struct CredentialSource: KeySource {
    private let name: String
    private let directory: String?
    private let files: KeyFiles

    /// The name and the folder of the credential, for messages.
    package let identifier: String
    /// The short name of the source: `credential` and the credential's name.
    package var pin: String { "credential \(name)" }
    /// `sealed`, the level for a key on the disk. The service manager decides whether the key is stored on this
    /// machine's disk, and how well it is protected there.
    package var protection: ProtectionLevel { .sealed }

    /// Creates a source for a credential. No file is opened yet.
    /// - Parameters:
    ///   - name: The name of the credential: a file name without a path.
    ///   - directory: The absolute path of the folder; nil for the folder in `CREDENTIALS_DIRECTORY`.
    ///   - deadline: The time limit for each call.
    ///   - runtime: The clock, the file system and the other services of the machine.
    /// - Throws: ``BackendError`` with `invalidName` if the name is not a valid file name.
    package init(name: String, directory: String? = nil, deadline: Duration, runtime: Runtime) throws(BackendError) {
        // Kubernetes uses names that begin with two dots for its links and folders in the directory.
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

    /// Reads the keys. Returns nil if the folder exists and does not contain the credential.
    /// - Throws: ``BackendError``: `unavailable` if no folder is set or the folder does not exist; `accessDenied`;
    ///   `untrusted`; `encryptionKeyMismatch` if the file does not contain keys.
    package func load() async throws(BackendError) -> SourceKeys? {
        guard let directory else {
            throw BackendError(
                .unavailable,
                "CREDENTIALS_DIRECTORY is not set to a folder, so there is no credential \(name). Start the program with LoadCredential=\(name):… in its systemd unit, or set the variable to the absolute path where the secret is mounted."
            )
        }
        return try await files.onLane(isMutation: false) { () throws(BackendError) in try read(in: directory) }
    }

    /// Always throws: the administrator creates a credential, not the program.
    /// - Throws: ``BackendError`` with `encryptionKeyMissing`. Its message says how to create the credential.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        throw BackendError(
            .encryptionKeyMissing,
            "There is no \(identifier), and a program cannot make one for itself. Make a key with localdata keys new; pass it with LoadCredential=\(name):<file>, with systemd-creds encrypt --name=\(name) and LoadCredentialEncrypted=, or as the entry \(name) of a Kubernetes secret; then start again."
        )
    }

    /// Always throws: the administrator changes a credential, not the program.
    /// - Throws: ``BackendError`` with `unsupported`. Its message says how to change the credential.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        throw BackendError(
            .unsupported,
            new.others.isEmpty
                ? "A program cannot change the \(identifier). Its older keys are no longer needed: remove every line but the first from its source, and restart the program."
                : "A program cannot change the \(identifier). Add the output of localdata keys new as the first line of its source, restart the program, and repeat this call."
        )
    }

    private func read(in directory: String) throws(BackendError) -> SourceKeys? {
        let path = "\(directory)/\(name)"
        guard var contents = try files.read(path) else {
            let folder = try onDisk { () throws(FileError) in try files.runtime.files.status(directory) }
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
