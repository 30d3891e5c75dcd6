package import BackendContract
internal import Crypto
internal import Foundation

/// Authenticated encryption of a single value: sealing format 1.
///
/// ```
/// 01                 format
/// key id             8 bytes
/// salt               32 random bytes
/// nonce              12 random bytes
/// ciphertext         as long as the content
/// tag                16 bytes
/// ```
///
/// The message key is HKDF-SHA256 (RFC 5869) of the sealing key, with the salt, and with the purpose's text as info.
/// The cipher is AES-256-GCM (NIST SP 800-38D) under the message key. Every message has a separate key, so the number
/// of messages is not limited by the random nonces. Messages of different purposes never share a key.
///
/// The associated data is ``Context/bytes``. A value that was sealed for one store and slot does not open in another
/// one, nor with other metadata.
package enum Envelope {
    /// The number of bytes that sealing adds to the content.
    package static let overhead = 1 + SealingKey.idLength + 32 + 12 + 16

    /// The purpose that content is sealed for.
    package enum Purpose: String, Sendable, CaseIterable {
        /// The value of a key, or of a record in a collection.
        case value
        /// The origin of a value: the part of its metadata that names the older copies it replaced.
        case origin
        /// The origin in the record of a removal. It names the older copies that the removal also covers. Its seal
        /// proves that a program with the key removed the value.
        case removal
        /// A value in the quarantine, the store for displaced values that no user has reviewed yet.
        case quarantine

        /// The text at the beginning of the associated data. It is also the info from which the message key is derived.
        var text: String {
            switch self {
            case .value: "LocalData envelope 1 value"
            case .origin: "LocalData envelope 1 origin"
            case .removal: "LocalData envelope 1 removal"
            case .quarantine: "LocalData envelope 1 quarantine"
            }
        }
    }

    /// The purpose, store, slot and other facts that a sealed value is bound to.
    package struct Context: Sendable {
        let purpose: Purpose
        private var fields: Fields

        /// Creates a context with a purpose and a store. The caller appends further fields in a fixed order.
        package init(_ purpose: Purpose, in store: StoreContext) {
            self.purpose = purpose
            fields = Fields(purpose.text)
            fields.add(store)
        }

        /// The encoded ``Fields``.
        package var bytes: [UInt8] { fields.bytes }

        /// Appends a text as a field.
        package mutating func add(_ text: String) { fields.add(text) }

        /// Appends the metadata that is stored with the sealed content, encoded as in record format 1.
        package mutating func add(_ metadata: StorageMetadata) {
            var writer = ByteWriter()
            RecordCodec.encodeMetadata(metadata, into: &writer)
            fields.add(writer.bytes)
        }
    }

    /// Seals content.
    /// - Parameters:
    ///   - content: The content to encrypt and authenticate. Its length stays visible.
    ///   - key: The sealing key.
    ///   - context: The context that the content is bound to.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    package static func seal(
        _ content: [UInt8], with key: SealingKey, for context: Context, _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let salt = randomBytes(32)
        do {
            let box = try AES.GCM.seal(
                content, using: messageKey(key, context.purpose, salt: salt[...]), nonce: AES.GCM.Nonce(data: randomBytes(12)),
                authenticating: context.bytes)
            return [1] + key.id + salt + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw BackendError(.failed, "The value could not be sealed.")
        }
    }

    /// Returns the id of the key that sealed the bytes; nil if the bytes do not have this format.
    package static func keyID(of sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= overhead, sealed[0] == 1 else { return nil }
        return Array(sealed[1...SealingKey.idLength])
    }

    /// Opens the result of ``seal(_:with:for:_:)``.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` if another key sealed the bytes; `corrupted` if the bytes or
    ///   the metadata were changed, or the bytes were moved here from another slot.
    package static func open(_ sealed: [UInt8], with key: SealingKey, for context: Context) throws(BackendError) -> [UInt8] {
        guard let id = keyID(of: sealed) else { throw BackendError(.corrupted, "The bytes are not a sealed value of a known format.") }
        guard id == key.id else {
            throw BackendError(
                .encryptionKeyMismatch,
                "The value was sealed with the key \(hexadecimalText(of: id)), not with \(hexadecimalText(of: key.id)). Restore that key; nothing was changed."
            )
        }
        let saltStart = 1 + SealingKey.idLength
        let nonceStart = saltStart + 32
        let start = nonceStart + 12
        let end = sealed.count - 16
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: sealed[nonceStart..<start]), ciphertext: sealed[start..<end], tag: sealed[end...])
            let messageKey = messageKey(key, context.purpose, salt: sealed[saltStart..<nonceStart])
            return Array(try AES.GCM.open(box, using: messageKey, authenticating: context.bytes))
        } catch {
            throw BackendError(
                .corrupted,
                "The sealed value or its metadata was changed, or it was moved here from another slot. Nothing was changed now."
            )
        }
    }

    // Reason: "Each message has a separate key" in Docs/Decisions/Sealing.md.
    private static func messageKey(_ key: SealingKey, _ purpose: Purpose, salt: ArraySlice<UInt8>) -> SymmetricKey {
        KeyDerivation.key(from: key.key, salt: Array(salt), for: purpose.text.utf8)
    }
}
