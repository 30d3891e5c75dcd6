import BackendContract
import LocalData
package import Sealing

/// A passphrase or a recovery key that opens a backup or an export.
///
/// A backup has one or more of them, and each one alone opens it. A recovery key cannot be guessed. A passphrase can,
/// so use several random words.
///
/// ```swift
/// let written = BackupKey.recoveryKey(try RecoveryKey(text: typed))  // throws invalidRecoveryKey for a typing error
/// try await storage.backup(to: file, openedBy: [written, .passphrase("correct horse battery staple")])
/// print(written)  // the id of the key, never the secret
/// ```
public struct BackupKey: Sendable, CustomStringConvertible, CustomReflectable {
    private enum Form {
        case passphrase(String, PassphraseCost)
        case recovery(RecoveryKeyPair)
    }

    private let form: Form

    /// A passphrase, normalized to Unicode form C. An attacker with the file can guess passphrases; each guess costs one scrypt with N =
    /// 2^17, r = 8, p = 1.
    ///
    /// ```swift
    /// let written = BackupKey.recoveryKey(try RecoveryKey(text: typed))  // throws invalidRecoveryKey for a typing error
    /// try await storage.backup(to: file, openedBy: [written, .passphrase("correct horse battery staple")])
    /// print(written)  // the id of the key, never the secret
    /// ```
    public static func passphrase(_ passphrase: String) -> BackupKey { BackupKey(form: .passphrase(passphrase, .recommended)) }

    /// A passphrase with another scrypt cost.
    package static func passphrase(_ passphrase: String, _ cost: PassphraseCost) -> BackupKey {
        BackupKey(form: .passphrase(passphrase, cost))
    }

    /// A recovery key.
    ///
    /// ```swift
    /// let written = BackupKey.recoveryKey(try RecoveryKey(text: typed))  // throws invalidRecoveryKey for a typing error
    /// try await storage.backup(to: file, openedBy: [written, .passphrase("correct horse battery staple")])
    /// print(written)  // the id of the key, never the secret
    /// ```
    public static func recoveryKey(_ key: RecoveryKey) -> BackupKey { BackupKey(form: .recovery(key.pair)) }

    func recipient() throws(BackendError) -> StreamRecipient {
        switch form {
        case .passphrase(let text, let cost): .passphrase(try StreamPassphrase(text), cost)
        case .recovery(let pair): .recovery(pair)
        }
    }

    func opener() throws(BackendError) -> StreamOpener {
        switch form {
        case .passphrase(let text, _): .passphrase(try StreamPassphrase(text))
        case .recovery(let pair): .recovery(pair)
        }
    }

    /// "passphrase", or the id of the recovery key. It never contains the secret.
    public var description: String {
        switch form {
        case .passphrase: "passphrase"
        case .recovery(let pair): "\(pair)"
        }
    }
    /// Empty, so that a dump shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
