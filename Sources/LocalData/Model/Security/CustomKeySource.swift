public import BackendContract
import BackendRuntime
package import Sealing

/// A place of the program's own that keeps a sealing key: a key management service, a security module, another store of secrets.
///
/// ```swift
/// configuration.customKeySources["payments"] = PaymentsKeySource()
/// configuration.databaseKeySources["payments"] = .custom("payments")
/// ```
///
/// The router keeps the key in memory and asks once in a run. When a first key may be made it decides by itself: never beside data that another key has sealed.
public protocol CustomKeySource: Sendable {
    /// How well a value is protected that is sealed with the key: `sealed` when the key, or what opens it, is on the disk of this machine.
    var protection: ProtectionLevel { get }

    /// Fetches the key. Called once in a run, as a rule, and not on the main actor; it ends when its task is cancelled.
    /// - Returns: The key; nil only when it is proven that there is none. An error, a time-out and a refusal are thrown.
    /// - Throws: `BackendError`: `locked`, `unavailable`, `accessDenied` say what the program is told. Any other error counts as `unavailable`, and its words are not repeated.
    func load() async throws -> SealingKeyMaterial?

    /// Stores a first key, durably, unless there is one by now: from another process, for instance.
    /// - Parameter key: A new random key.
    /// - Returns: The key that the source holds now: this one, or the other.
    /// - Throws: As ``load()``.
    func create(_ key: SealingKeyMaterial) async throws -> SealingKeyMaterial

    /// Fetches the keys that only open: those before the present one, as long as something may be sealed with them. Called after ``load()``.
    /// - Returns: The latest first; none where the key was never replaced.
    /// - Throws: As ``load()``.
    func loadOthers() async throws -> [SealingKeyMaterial]

    /// Stores another key in place of the one that it holds, and which keys only open from then on, durably and in one step. Called by
    /// ``StorageRouter/rotateKey(of:progress:)`` and ``StorageRouter/deleteOlderKeys(of:waitingAtMost:)`` alone.
    /// - Parameters:
    ///   - old: The key that it holds. If it holds another one by then, throw `BackendError` with the code `conflict`.
    ///   - key: The key that ``load()`` gives from now on; it may be the same.
    ///   - others: What ``loadOthers()`` gives from now on. A key that is not among them is to be destroyed.
    /// - Throws: As ``load()``.
    func replace(_ old: SealingKeyMaterial, with key: SealingKeyMaterial, others: [SealingKeyMaterial]) async throws

    /// Unlocks the place, with a prompt if one is needed: called by ``StorageRouter/unlock(_:)`` alone.
    /// - Throws: As ``load()``, and `promptDismissed`.
    func unlock() async throws
}

extension CustomKeySource {
    /// Refuses: somebody else makes the key.
    /// - Throws: `BackendError` with the code `encryptionKeyMissing`.
    public func create(_ key: SealingKeyMaterial) async throws -> SealingKeyMaterial {
        throw BackendError(.encryptionKeyMissing, "There is no key yet, and this source makes none. Provide one; nothing was changed.")
    }

    /// None: the key was never replaced.
    public func loadOthers() async throws -> [SealingKeyMaterial] { [] }

    /// Refuses: somebody else replaces the key.
    /// - Throws: `BackendError` with the code `unsupported`.
    public func replace(_ old: SealingKeyMaterial, with key: SealingKeyMaterial, others: [SealingKeyMaterial]) async throws {
        throw BackendError(.unsupported, "This source replaces no key. Replace it where it is made; nothing was changed.")
    }

    /// Does nothing: there is no lock.
    public func unlock() async throws {}
}

/// A sealing key of 32 bytes, on its way between a router and a source of the program's own. Its memory is overwritten when the last copy is released.
public struct SealingKeyMaterial: Sendable, CustomStringConvertible, CustomReflectable {
    package let key: SealingKey

    package init(_ key: SealingKey) { self.key = key }

    /// Takes 32 bytes, which are copied: overwrite them afterwards.
    /// - Throws: ``StorageError`` with `encryptionKeyMismatch` for another number of bytes.
    public init(bytes: some Collection<UInt8>) throws {
        var copy = Array(bytes)
        defer { wipe(&copy) }
        guard let key = SealingKey(bytes: copy) else {
            throw StorageError(
                StorageError.encryptionKeyMismatch, key: "sealing key", "A sealing key has 32 bytes, this one has \(copy.count).")
        }
        self.key = key
    }

    /// Reads a line as `localdata key new` prints it.
    /// - Throws: ``StorageError`` with `encryptionKeyMismatch` for anything else.
    public init(text: String) throws {
        do throws(BackendError) { key = try SealingKey(text: text) } catch { throw StorageError.from(error, key: "sealing key") }
    }

    /// Lends the 32 bytes for the duration of a call: to encrypt them under a key of a service, for instance.
    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try key.withBytes(body) }

    /// The key as one line of text. This is the secret itself.
    public var text: String { key.text }

    /// The key's id, never the key.
    public var description: String { "SealingKeyMaterial(\(hexadecimalText(of: key.id)))" }
    /// The id alone: a dump shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: key.id)]) }
}
