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
/// The message key is HKDF-SHA256 (RFC 5869) of the sealing key with the salt and the info text `LocalData sealing 1`; the cipher is
/// AES-256-GCM (NIST SP 800-38D) under that key. Since every message has a key of its own, random nonces do not run out.
/// The associated data is ``Context/bytes``: what is sealed for one place does not open in another.
package enum Envelope {
    /// The bytes that sealing adds to a content.
    package static let overhead = 1 + SealingKey.idLength + 32 + 12 + 16

    /// The place and purpose that a sealed value is bound to.
    package struct Context: Sendable {
        /// Domain-separated, length-prefixed names.
        package let bytes: [UInt8]

        /// Creates a context.
        /// - Parameters:
        ///   - purpose: What is sealed: "payload", "origin", "quarantine".
        ///   - parts: The names of the place, in a fixed order.
        package init(purpose: String, _ parts: [String]) {
            var bytes = Array("LocalData sealing 1".utf8)
            for part in [purpose] + parts {
                withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
                bytes.append(contentsOf: part.utf8)
            }
            self.bytes = bytes
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
                content, using: messageKey(key, salt: salt[...]), nonce: AES.GCM.Nonce(data: randomBytes(12)), authenticating: context.bytes
            )
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
    ///   another place.
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
            return Array(try AES.GCM.open(box, using: messageKey(key, salt: sealed[saltStart..<nonceStart]), authenticating: context.bytes))
        } catch {
            throw BackendError(
                .corrupted, "The sealed value was changed, or brought here from another place. Its bytes are left as they are.")
        }
    }

    private static func messageKey(_ key: SealingKey, salt: ArraySlice<UInt8>) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key.key, salt: salt, info: Array("LocalData sealing 1".utf8), outputByteCount: 32)
    }
}
