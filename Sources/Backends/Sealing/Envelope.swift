package import BackendContract
internal import Crypto
internal import Foundation

/// Authenticated encryption of one value: sealing format 1.
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
/// The message key is HKDF-SHA256 (RFC 5869) of the sealing key with the salt and the purpose's text as info; the cipher is AES-256-GCM
/// (NIST SP 800-38D) under that key. Since every message has a key of its own, random nonces do not run out, and what is sealed for one
/// purpose has no key in common with what is sealed for another. The associated data is ``Context/bytes``: what is sealed for one store and
/// place does not open in another, nor with anything else beside it.
package enum Envelope {
    /// The bytes that sealing adds to a content.
    package static let overhead = 1 + SealingKey.idLength + 32 + 12 + 16

    /// What something is sealed for.
    package enum Purpose: String, Sendable, CaseIterable {
        /// A value of a key or collection.
        case value
        /// What a value was made of.
        case origin
        /// What a removal covers. It proves the removal.
        case removal
        /// A displaced value.
        case quarantine

        /// The text that begins the associated data, and from which the message key is derived.
        var text: String {
            switch self {
            case .value: "LocalData envelope 1 value"
            case .origin: "LocalData envelope 1 origin"
            case .removal: "LocalData envelope 1 removal"
            case .quarantine: "LocalData envelope 1 quarantine"
            }
        }
    }

    /// The purpose, store, place and further facts that a sealed value is bound to.
    package struct Context: Sendable {
        let purpose: Purpose
        private var fields: Fields

        /// Begins with a purpose and a store; fields follow in a fixed order.
        package init(_ purpose: Purpose, in store: StoreContext) {
            self.purpose = purpose
            fields = Fields(purpose.text)
            fields.add(store)
        }

        /// The counted fields.
        package var bytes: [UInt8] { fields.bytes }

        /// Appends a text.
        package mutating func add(_ text: String) { fields.add(text) }

        /// Appends the metadata that stands beside what is sealed: the metadata part of record format 1.
        package mutating func add(_ metadata: StorageMetadata) {
            var writer = ByteWriter()
            RecordCodec.encodeMetadata(metadata, into: &writer)
            fields.add(writer.bytes)
        }
    }

    /// Seals a content.
    /// - Parameters:
    ///   - content: What is hidden and protected; its length stays visible.
    ///   - key: The sealing key.
    ///   - context: What it is bound to.
    ///   - randomBytes: Gives a number of unpredictable bytes.
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

    /// The id of the key that sealed some bytes, or nil if they are not in this format.
    package static func keyID(of sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= overhead, sealed[0] == 1 else { return nil }
        return Array(sealed[1...SealingKey.idLength])
    }

    /// Opens what ``seal(_:with:for:_:)`` made.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` when another key sealed it; `corrupted` when it was changed, or moved here from
    ///   another place, or something beside it was changed.
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
                "The sealed value, or something that stands beside it, was changed, or it was brought here from another place. Its bytes are left as they are."
            )
        }
    }

    private static func messageKey(_ key: SealingKey, _ purpose: Purpose, salt: ArraySlice<UInt8>) -> SymmetricKey {
        KeyDerivation.key(from: key.key, salt: Array(salt), for: purpose.text.utf8)
    }
}
