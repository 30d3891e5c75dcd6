import BackendContract
import LocalData
import Sealing

/// A key that is kept outside the machine, written down or in a safe, and opens encrypted databases whose own key is lost.
///
/// ```swift
/// let key = try await router.addRecoveryKey(to: .encryptedSQLite(database: "main"))
/// show(key.text)   // once: nothing on this machine keeps it
/// ```
///
/// It is a key pair of X25519; databases keep the public half alone.
public struct RecoveryKey: Sendable, CustomStringConvertible, CustomReflectable {
    let pair: RecoveryKeyPair

    init(_ randomBytes: (Int) -> [UInt8]) { pair = RecoveryKeyPair(randomBytes) }

    /// Reads a recovery key as people type it: with or without separators, in capitals or not, O for 0, I and L for 1.
    /// - Parameter text: What was written down; see ``text``.
    /// - Throws: ``StorageError`` with `invalidRecoveryKey`, which says what is wrong with the text and never repeats it.
    public init(text: String) throws {
        do throws(BackendError) { pair = try RecoveryKeyPair(text: text) } catch { throw StorageError.from(error, key: "recovery key") }
    }

    /// The key to be written down: 14 groups of 4 characters, of which the last is a checksum. This is the secret itself.
    public var text: String { pair.text }

    /// The first bytes of the public half, never the key.
    public var description: String { "\(pair)" }
    /// Nothing: a dump shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
