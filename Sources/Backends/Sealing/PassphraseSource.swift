package import BackendContract
package import BackendRuntime
internal import Foundation

/// A key in a file beside the data, sealed with a passphrase that a person knows.
///
/// The file (permissions 0600) holds a random key, and those before it; from the passphrase only the key that seals that one is derived, with scrypt. So the
/// passphrase can be asked for wherever the program likes: a terminal, a dialog, another secret store.
///
/// The passphrase is brought into Unicode's form C (NFC) first, so that one that is typed on another keyboard or system is the same;
/// nothing else is changed, blanks at its ends count. An empty one is refused. Bytes that this library makes of it are overwritten after
/// use; the text that the program hands over is the program's.
package struct PassphraseSource: KeySource {
    let path: String
    /// The cost of new files.
    let cost: PassphraseCost
    private let passphrase: @Sendable () async throws -> String
    let files: KeyFiles

    /// The path, in words.
    package let identifier: String
    /// The source's name.
    package let pin: String
    /// `keyring`: what opens the key is never on a disk. An attacker who has the file can try passphrases, at the cost of one derivation
    /// each, so the protection is as good as the passphrase.
    package var protection: ProtectionLevel { .keychain }

    /// Names the file; nothing is opened yet.
    /// - Parameters:
    ///   - path: The file's absolute path.
    ///   - name: The source's short name; nil for the file's.
    ///   - cost: What a new file costs to open; an existing file contains its own cost.
    ///   - deadline: How long reading, deriving and writing may take each. The person's answer is waited for without a limit.
    ///   - runtime: The machine.
    ///   - passphrase: Gives the passphrase. Asked only when there is a file to open, or one to be made.
    package init(
        path: String, name: String? = nil, cost: PassphraseCost = .recommended, deadline: Duration, runtime: Runtime,
        passphrase: @escaping @Sendable () async throws -> String
    ) {
        self.path = path
        self.cost = cost
        self.passphrase = passphrase
        files = KeyFiles("passphrase", deadline: deadline, runtime: runtime)
        identifier = "passphrase file \(path)"
        pin = "passphrase \(name ?? lastComponent(of: path))"
    }

    /// A passphrase is asked for, and the key is derived from it.
    package var takesItsTime: Bool { true }

    /// Reads the file, asks for the passphrase and opens the keys; nil, without asking, when there is no file.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` for another passphrase; `corrupted` or `unsupported` for a file that is damaged
    ///   or of another format; `accessDenied` for one that others can use; `locked` when no passphrase is given.
    package func load() async throws(BackendError) -> SourceKeys? {
        guard let file = try await files.onLane(isMutation: false, { () throws(BackendError) in try read() }) else { return nil }
        let secret = try await ask()
        return try await files.deriving(isMutation: false) { () throws(BackendError) in try file.open(with: secret, of: path) }
    }

    /// Asks for the passphrase and makes the file, durably and whole, if there is none; returns the keys that it holds then.
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

    /// Asks for the passphrase and replaces the file in one step; passphrase and cost stay the same.
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

    /// Whether there is a passphrase file: which key is in it only the passphrase tells, and that is not asked for again.
    package func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read() != nil }
    }

    /// Flushes the folder: the file itself was whole before it got its name.
    package func synchronize() async throws(BackendError) {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try files.synchronizeName(of: path) }
    }

    func read() throws(BackendError) -> PassphraseFile? {
        // Checked before it is read, so that a large file in its place does not use up the memory.
        let status: FileStatus?
        do throws(FileError) { status = try files.runtime.files.status(path) } catch { throw error.backendError() }
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
            // The program's error is not repeated: it may contain what was typed.
            throw BackendError(.locked, "No passphrase was given for \(path). Give it and try again; nothing was changed.")
        }
        guard !text.isEmpty else {
            throw BackendError(.locked, "The passphrase given for \(path) is empty. Give one and try again; nothing was changed.")
        }
        return Self.secret(text)
    }

    /// A passphrase as the bytes that a key is derived from.
    static func secret(_ text: String) -> SecretBytes {
        // A text of ASCII is in form C, and Foundation's copy of it cannot be overwritten.
        var bytes = Array((text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping).utf8)
        defer { wipe(&bytes) }
        return SecretBytes(bytes)
    }
}

extension PassphraseSource: CustomStringConvertible, CustomReflectable {
    /// Where the key is, never the key or the passphrase.
    package var description: String { "PassphraseSource(\(path))" }
    /// Where the key is: a dump shows no secret.
    package var customMirror: Mirror { Mirror(self, children: ["path": path, "pin": pin]) }
}
