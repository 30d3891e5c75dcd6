package import BackendContract
package import BackendRuntime
internal import Foundation

/// A source of sealing keys in a file that a passphrase opens. The file is beside the data, and a person knows the
/// passphrase.
///
/// The file (permissions 0600) holds a random key and its predecessors. The file is sealed with a key that scrypt
/// derives from the passphrase. The program decides how it gets the passphrase: from a terminal, a dialog or another
/// secret store.
///
/// The passphrase is converted to Unicode normalization form C (NFC), so that it is the same from every keyboard and
/// system. Nothing else is changed: blanks at its ends count. An empty passphrase is refused with an error. The library
/// overwrites its copies of the passphrase after use. It cannot overwrite the text that the program passes.
package struct PassphraseSource: KeySource {
    let path: String
    /// The scrypt cost of new files.
    let cost: PassphraseCost
    private let passphrase: @Sendable () async throws -> String
    let files: KeyFiles

    /// The name of the source for messages: it contains the path.
    package let identifier: String
    /// The short name of the source.
    package let pin: String
    /// `keychain`, because the passphrase is never stored on a disk. An attacker who has the file can guess
    /// passphrases, and each guess costs one derivation. So the protection is as strong as the passphrase.
    package var protection: ProtectionLevel { .keychain }

    /// Creates a source for a file. No file is opened yet.
    /// - Parameters:
    ///   - path: The absolute path of the file.
    ///   - name: The short name of the source; nil for the name of the file.
    ///   - cost: The scrypt cost of a new file. An existing file contains its cost.
    ///   - deadline: The time limit for reading the file and for flushing its folder. Deriving a key and writing the
    ///     file may take up to a day. Waiting for the passphrase has no limit.
    ///   - runtime: The clock, the file system and the other services of the machine.
    ///   - passphrase: Returns the passphrase. Called only if there is a file to open, or before a file is created.
    package init(
        path: String, name: String? = nil, cost: PassphraseCost = .recommended, deadline: Duration, runtime: Runtime,
        passphrase: @escaping @Sendable () async throws -> String
    ) {
        (self.path, self.cost, self.passphrase) = (path, cost, passphrase)
        files = KeyFiles("passphrase", deadline: deadline, runtime: runtime)
        identifier = "passphrase file \(path)"
        pin = "passphrase \(name ?? lastComponent(of: path))"
    }

    /// True: the user is asked for a passphrase, and the key is derived from it.
    package var takesItsTime: Bool { true }

    /// Reads the file, asks for the passphrase and opens the keys. Returns nil, without asking, if there is no file.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` for another passphrase; `corrupted` for a damaged file;
    ///   `unsupported` for another format; `accessDenied` if other users can use the file; `locked` if no passphrase is
    ///   given.
    package func load() async throws(BackendError) -> SourceKeys? {
        guard let file = try await files.onLane(isMutation: false, { () throws(BackendError) in try read() }) else { return nil }
        let secret = try await ask()
        return try await files.deriving(isMutation: false) { () throws(BackendError) in try file.open(with: secret, of: path) }
    }

    /// Asks for the passphrase and creates the file, durably and atomically, unless it exists. Returns the keys in the
    /// file.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        let secret = try await ask()
        let salt = files.runtime.randomBytes(32)
        let nonce = files.runtime.randomBytes(XAES256GCM.nonceLength)
        let draftName = files.draftName(for: path)
        return try await files.deriving(isMutation: true) { () throws(BackendError) in
            let bytes = try PassphraseFile.sealing(keys, with: secret, cost, salt: salt, nonce: nonce)
            if try files.make(path, bytes, draftName: draftName) { return keys }
            guard let existing = try read() else {
                throw BackendError(.failed, "The passphrase file \(path) was removed while it was read. Try again.")
            }
            return try existing.open(with: secret, of: path)
        }
    }

    /// Asks for the passphrase and replaces the file atomically. The passphrase and the cost stay the same.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        guard let found = try await files.onLane(isMutation: false, { () throws(BackendError) in try read() }) else {
            throw replacedMeanwhile
        }
        let secret = try await ask()
        try await files.deriving(isMutation: true) { () throws(BackendError) in
            guard try found.open(with: secret, of: path).holdsSame(as: old) else { throw replacedMeanwhile }
            let cost = found.cost.allowed(by: self.cost)
            let bytes = try PassphraseFile.sealing(
                new, with: secret, cost, salt: files.runtime.randomBytes(32),
                nonce: files.runtime.randomBytes(XAES256GCM.nonceLength))
            try files.replace(path, found.bytes, with: bytes)
        }
    }

    /// Returns whether the passphrase file exists. Its keys are not compared, because the user would have to enter the
    /// passphrase again.
    package func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read() != nil }
    }

    /// Flushes the folder, which makes the name of the file durable. The content was flushed before the file got its
    /// name.
    package func synchronize() async throws(BackendError) { try await files.synchronizeName(of: path) }

    func read() throws(BackendError) -> PassphraseFile? {
        // Check the size before reading, so that a large file at this path does not use up the memory.
        let status = try onDisk { () throws(FileError) in try files.runtime.files.status(path) }
        guard status?.size ?? 0 <= 1 << 16 else {
            throw BackendError(.corrupted, "\(path) is too large for a passphrase file. Restore the right file; nothing was changed.")
        }
        guard
            let contents = try files.readPrivate(path, "passphrase file", ifExposed: "whether its passphrase withstands guessing")
        else { return nil }
        return try PassphraseFile(contents.bytes, of: path, allowsCheap: cost.isCheapOnPurpose)
    }

    func ask() async throws(BackendError) -> SecretBytes {
        let text: String
        do {
            text = try await passphrase()
        } catch let error as BackendError {
            throw error
        } catch is CancellationError {
            throw BackendError(.cancelled, "The caller was cancelled while the passphrase was asked for. Nothing was changed; try again.")
        } catch {
            // Do not repeat the program's error in the message: it may contain the typed text.
            throw BackendError(.locked, "No passphrase was given for \(path). Give it and try again; nothing was changed.")
        }
        guard !text.isEmpty else {
            throw BackendError(.locked, "The passphrase given for \(path) is empty. Give one and try again; nothing was changed.")
        }
        return Self.secret(text)
    }

    /// Converts a passphrase to the bytes that the key is derived from.
    static func secret(_ text: String) -> SecretBytes {
        // ASCII text is already in form C. Do not normalize it, because Foundation's copy of it cannot be overwritten.
        var bytes = Array((text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping).utf8)
        defer { wipe(&bytes) }
        return SecretBytes(bytes)
    }
}

extension PassphraseSource: CustomStringConvertible, CustomReflectable {
    /// The path of the file. The description contains neither the key nor the passphrase.
    package var description: String { "PassphraseSource(\(path))" }
    /// Shows only the path and the short name, so that a dump contains no secret.
    package var customMirror: Mirror { Mirror(self, children: ["path": path, "pin": pin]) }
}
