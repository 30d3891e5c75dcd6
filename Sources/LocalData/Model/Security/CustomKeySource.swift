public import BackendContract
import BackendRuntime
import Sealing

/// Provides the sealing key from a location that LocalData does not support, such as a key management service, a
/// security module, or another store of secrets.
///
/// The router keeps the key in memory, and usually loads it once during a run of the program. The router decides when a
/// first key may be created. It never creates one while data exists that a key of this source has sealed. For a source
/// with a fixed key, ``protection`` and ``load()`` are enough.
///
/// ```swift
/// struct ModuleKey: CustomKeySource {
///     let module: SecurityModule
///
///     var protection: ProtectionLevel { .keychain }
///
///     func load() async throws -> SealingKeyMaterial? {
///         guard module.isReachable else { throw BackendError(.unavailable, "The security module does not respond. Start its service.") }
///         return try await module.secret(named: "payments").map { try SealingKeyMaterial(bytes: $0) }
///     }
/// }
/// ```
///
/// ```swift
/// configuration.customKeySources["payments"] = ModuleKey(module: SecurityModule())
/// configuration.databaseKeySources["payments"] = .custom("payments")
/// ```
public protocol CustomKeySource: Sendable {
    /// The protection of a value that is sealed with the key. It is `sealed` if the key, or the secret that decrypts
    /// the key, is stored on a disk of this machine.
    var protection: ProtectionLevel { get }

    /// Loads the key. The router usually calls this once in a run, and never on the main actor. The function must
    /// return when its task is cancelled.
    /// - Returns: The key; nil only if it is proven that there is none. Throw for an error, a time-out or a refusal.
    /// - Throws: `BackendError` with a code such as `locked`, `unavailable` or `accessDenied`, which the program
    ///   receives. Any other error counts as `unavailable`, and its text is not repeated.
    func load() async throws -> SealingKeyMaterial?

    /// Stores a first key durably. If the source has a key by now, for example from another process, it keeps that key.
    /// - Parameter key: A new random key.
    /// - Returns: The key that the source has after the call: this key, or the existing one.
    /// - Throws: The errors of ``load()``.
    func create(_ key: SealingKeyMaterial) async throws -> SealingKeyMaterial

    /// Loads the earlier keys, which only decrypt. The source keeps them as long as data may be sealed with them. The
    /// router calls this after ``load()``.
    /// - Returns: The earlier keys, with the latest first; empty if the key was never replaced.
    /// - Throws: The errors of ``load()``.
    func loadOthers() async throws -> [SealingKeyMaterial]

    /// Replaces the current key and the list of earlier keys, durably and atomically. Only
    /// `rotateKey(of:progress:)` and `deleteOlderKeys(of:waitingAtMost:)` of `LocalDataBackup` call this.
    /// - Parameters:
    ///   - old: The expected current key. If the source has another one, throw `BackendError` with the code `conflict`.
    ///   - key: The key that ``load()`` returns from now on. It may be the same as before.
    ///   - others: The keys that ``loadOthers()`` returns from now on. Destroy every other earlier key.
    /// - Throws: The errors of ``load()``.
    func replace(_ old: SealingKeyMaterial, with key: SealingKeyMaterial, others: [SealingKeyMaterial]) async throws

    /// Unlocks the location of the key, with a prompt if necessary. Only ``StorageRouter/unlock(_:)`` calls this.
    /// - Throws: The errors of ``load()``, and `promptDismissed`.
    func unlock() async throws
}

extension CustomKeySource {
    /// Throws, because by default the program cannot create keys in the source.
    /// - Throws: `BackendError` with the code `encryptionKeyMissing`.
    public func create(_ key: SealingKeyMaterial) async throws -> SealingKeyMaterial {
        throw BackendError(.encryptionKeyMissing, "The key source has no key and cannot create one. Provide a key; nothing was changed.")
    }

    /// Returns no keys, because by default the key is never replaced.
    public func loadOthers() async throws -> [SealingKeyMaterial] { [] }

    /// Throws, because by default the program cannot replace keys in the source.
    /// - Throws: `BackendError` with the code `unsupported`.
    public func replace(_ old: SealingKeyMaterial, with key: SealingKeyMaterial, others: [SealingKeyMaterial]) async throws {
        throw BackendError(.unsupported, "This source cannot replace its key. Replace it where it is created; nothing was changed.")
    }

    /// Does nothing, because by default a source cannot be locked.
    public func unlock() async throws {}
}

/// The 32 bytes of a sealing key, as a router and a custom key source exchange them. Its memory is overwritten when the
/// last copy is released.
///
/// A print or a dump shows the id of the key, never the key. Only ``text`` and ``withBytes(_:)`` return the secret.
///
/// ```swift
/// let key = try SealingKeyMaterial(text: KeySourceReference.newKeyText())
/// print(key)  // the key's id, never the key
/// ```
public struct SealingKeyMaterial: Sendable, CustomStringConvertible, CustomReflectable {
    let key: SealingKey

    init(_ key: SealingKey) { self.key = key }

    /// Creates a key from 32 bytes, which are copied. Overwrite the original bytes afterwards.
    ///
    /// ```swift
    /// do {
    ///     print(try SealingKeyMaterial(bytes: secret))
    /// } catch StorageError.encryptionKeyMismatch {
    ///     print("A sealing key has 32 bytes, not \(secret.count).")
    /// }
    /// ```
    /// - Throws: ``StorageError`` with `encryptionKeyMismatch` for another number of bytes.
    public init(bytes: some Collection<UInt8>) throws {
        var copy = Array(bytes)
        defer { wipe(&copy) }
        guard let key = SealingKey(bytes: copy) else {
            throw StorageError(.encryptionKeyMismatch, key: "sealing key", "A sealing key has 32 bytes, this one has \(copy.count).")
        }
        self.key = key
    }

    /// Creates a key from a line that `localdata keys new` printed.
    ///
    /// ```swift
    /// do {
    ///     print(try SealingKeyMaterial(text: "not a key"))
    /// } catch StorageError.encryptionKeyMismatch {
    ///     print("This line is no sealing key.")
    /// }
    /// ```
    /// - Throws: ``StorageError`` with `encryptionKeyMismatch` for any other text.
    public init(text: String) throws {
        do throws(BackendError) { key = try SealingKey(text: text) } catch { throw StorageError.from(error, key: "sealing key") }
    }

    /// Calls a closure with the 32 bytes, for example to encrypt them with a key of a service. The bytes are only valid
    /// during the call.
    ///
    /// ```swift
    /// let count = key.withBytes { bytes in bytes.count }  // 32
    /// ```
    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try key.withBytes(body) }

    /// The key as one line of text. This text is the secret itself.
    public var text: String { key.text }

    /// The key's id, never the key.
    public var description: String { "SealingKeyMaterial(\(hexadecimalText(of: key.id)))" }
    /// The key's id, so that a dump shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: key.id)]) }
}
