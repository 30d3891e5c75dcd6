import BackendContract
import BackendRuntime
package import LocalData
import Sealing

/// A key that opens encrypted databases after their source's key was lost. Keep it outside the machine, on paper or in
/// a safe.
///
/// ```swift
/// let key = try await storage.addRecoveryKey(to: .encryptedSQLite(database: "main"))
/// print(key.text)  // show it once, and have it written down: nothing on this machine stores it
/// ```
///
/// It is an X25519 key pair. Databases store only the public half. If the key of the source is lost, the text opens the
/// database again:
///
/// ```swift
/// do {
///     let key = try RecoveryKey(text: typed)
///     try await storage.recover(.encryptedSQLite(database: "main"), with: key)
/// } catch let error as StorageError where error.code == .invalidRecoveryKey {
///     print("Check the text: \(error.message)")  // the message never repeats the text
/// } catch StorageError.encryptionKeyMismatch { print("The database was sealed for another recovery key.") }
/// ```
public struct RecoveryKey: Sendable, CustomStringConvertible, CustomReflectable {
    let pair: RecoveryKeyPair

    init(_ randomBytes: (Int) -> [UInt8]) { pair = RecoveryKeyPair(randomBytes) }

    /// Creates a random key that no database has yet.
    package init(for configuration: StorageConfiguration) { self.init(configuration.runtime.randomBytes) }

    /// Parses a recovery key that a person typed. It accepts any separators and any case, O for 0, and I and L for 1.
    ///
    /// ```swift
    /// do {
    ///     let key = try RecoveryKey(text: typed)
    ///     try await storage.recover(.encryptedSQLite(database: "main"), with: key)
    /// } catch let error as StorageError where error.code == .invalidRecoveryKey {
    ///     print("Check the text: \(error.message)")  // the message never repeats the text
    /// } catch StorageError.encryptionKeyMismatch { print("The database was sealed for another recovery key.") }
    /// ```
    /// - Parameter text: The text of the key; see ``text``.
    /// - Throws: `StorageError` with `invalidRecoveryKey`. The error describes the problem and never repeats the text.
    public init(text: String) throws {
        do throws(BackendError) { pair = try RecoveryKeyPair(text: text) } catch { throw StorageError.from(error, key: "recovery key") }
    }

    /// The secret key as text to write down: 14 groups of 4 characters. The last group is a checksum.
    public var text: String { pair.text }

    /// The first bytes of the public half. It never contains the secret key.
    public var description: String { "\(pair)" }
    /// Empty, so that a dump shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
