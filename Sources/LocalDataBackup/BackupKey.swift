import BackendContract
import LocalData
package import Sealing

/// What opens a backup or an export: a passphrase, or a recovery key.
///
/// ```swift
/// try await router.backup(to: file, openedBy: [.recoveryKey(key), .passphrase("correct horse battery staple")])
/// ```
public struct BackupKey: Sendable, CustomStringConvertible, CustomReflectable {
    private enum Form {
        case passphrase(String, PassphraseCost)
        case recovery(RecoveryKeyPair)
    }

    private let form: Form

    /// A passphrase, in Unicode's form C. Whoever has the file can try passphrases, at the cost of scrypt with N = 2^17, r = 8, p = 1 each.
    public static func passphrase(_ passphrase: String) -> BackupKey { BackupKey(form: .passphrase(passphrase, .recommended)) }

    /// A passphrase at another cost.
    package static func passphrase(_ passphrase: String, _ cost: PassphraseCost) -> BackupKey {
        BackupKey(form: .passphrase(passphrase, cost))
    }

    /// A recovery key.
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

    /// Which of the two it is, never the secret.
    public var description: String {
        switch form {
        case .passphrase: "passphrase"
        case .recovery(let pair): "\(pair)"
        }
    }
    /// Nothing: a dump shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
