package import BackendContract
internal import BackendRuntime
package import Crypto

/// A 256-bit key and its id.
///
/// The id is computed from the key and reveals nothing about it. It is stored with all data that the key seals.
package struct SealingKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The id and the commitment of the key.
    package let identity: KeyIdentity
    /// The id of the key, 8 bytes, computed by ``KeyIdentity/id(of:)``.
    package var id: [UInt8] { identity.id }
    /// The key.
    package let key: SymmetricKey

    private static let head = Array("LocalData-key-1".utf8)[...]
    /// The number of bytes in an id.
    package static let idLength = KeyIdentity.idLength
    /// The number of bytes in a key.
    package static let keyLength = 32

    /// Creates a key and computes its id.
    package init(key: SymmetricKey) {
        identity = KeyIdentity(of: key)
        self.key = key
    }

    /// Creates a key from its bytes. Returns nil unless there are 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.keyLength else { return nil }
        self.init(key: SymmetricKey(data: bytes))
    }

    /// Calls a closure with the key's bytes. The pointer is valid only during the call.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try key.withUnsafeBytes(body) }

    /// Creates a key with the id of another key. Tests use it to simulate two keys with the same id.
    init(collidingWith id: [UInt8], key: SymmetricKey) {
        identity = KeyIdentity(id: id, commitment: KeyIdentity(of: key).commitment)
        self.key = key
    }

    /// Creates a new key from random bytes.
    /// - Parameter randomBytes: Returns the given number of unpredictable bytes.
    package static func random(_ randomBytes: (Int) -> [UInt8]) -> SealingKey { SealingKey(key: .random(randomBytes)) }

    /// Derives a key for one purpose with HKDF-SHA256, without a salt.
    /// - Parameter purpose: The info input of HKDF.
    package func subkey(_ purpose: String) -> SymmetricKey {
        KeyDerivation.key(from: key, for: purpose.utf8)
    }

    /// Returns the name of a key in the metadata of a sealed record: the format of the seal, a colon, and the id in
    /// hexadecimal.
    package static func name(of id: [UInt8]) -> String { "1:\(hexadecimalText(of: id))" }

    /// The key as one line of text: `LocalData-key-1 <id in hexadecimal> <key in base64>`.
    package var text: String {
        var bytes = textBytes()
        defer { wipe(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns ``text`` and an ending as bytes. No other copy is left, so the caller removes the key from memory by
    /// wiping the result.
    func textBytes(ending: String = "") -> [UInt8] {
        let head = Array("LocalData-key-1 \(hexadecimalText(of: id)) ".utf8)
        let length = Base64.encodedLength(of: key.bitCount / 8)
        return Array(unsafeUninitializedCapacity: head.count + length + ending.utf8.count) { bytes, filled in
            filled = bytes.initialize(fromContentsOf: head)
            let text = UnsafeMutableBufferPointer(rebasing: bytes[filled..<filled + length])
            text.initialize(repeating: 0)
            key.withUnsafeBytes { Base64.encode($0, into: text) }
            filled += length
            filled += UnsafeMutableBufferPointer(rebasing: bytes[filled...]).initialize(fromContentsOf: Array(ending.utf8))
        }
    }

    /// Parses ``text``, with or without a newline at its end.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` for any other text, for a truncated key, and for an id
    ///   that does not match the key.
    package init(text: String) throws(BackendError) {
        var bytes = Array(text.utf8)
        defer { wipe(&bytes) }
        try self.init(textBytes: bytes[...])
    }

    /// Parses the bytes of ``text``. No copy of the key's bytes is left outside the new key.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` if the bytes are not the text of a key.
    init(textBytes: ArraySlice<UInt8>) throws(BackendError) {
        let parts = textBytes.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
        guard parts.count == 3, parts[0] == Self.head,
            let id = bytes(ofHexadecimal: String(decoding: parts[1], as: UTF8.self)), id.count == Self.idLength
        else { throw Self.malformed }
        let key = withUnsafeTemporaryAllocation(byteCount: Self.keyLength, alignment: 8) { raw -> SymmetricKey? in
            defer { wipe(raw) }
            return Base64.decode(parts[2], into: raw) ? SymmetricKey(data: UnsafeRawBufferPointer(raw)) : nil
        }
        guard let key else { throw Self.malformed }
        self.init(key: key)
        // Reason: "The id of a key is computed from the key" in Docs/Decisions/Keys.md.
        guard self.id == id else {
            throw BackendError(
                .encryptionKeyMismatch,
                "The text of a key contains the id \(hexadecimalText(of: id)), but the key has the id \(hexadecimalText(of: self.id)). One of the two was changed. Restore the right key; nothing was changed."
            )
        }
    }

    /// Returns whether a payload begins like the text of a key. The text may be bytes, a native string, or a JSON
    /// string in quotes.
    package static func begins(_ payload: StoragePayload) -> Bool {
        let head = Array("LocalData-key-".utf8)
        return switch payload {
        case .bytes(let bytes), .native(.data(let bytes)): bytes.drop { $0 == UInt8(ascii: "\"") }.starts(with: head)
        case .native(.string(let text)): text.utf8.starts(with: head)
        case .native: false
        }
    }

    static var malformed: BackendError {
        BackendError(
            .encryptionKeyMismatch,
            "The content of the key source is not a key of this library. Restore the right key; nothing was changed.")
    }

    /// The id of the key. The description never contains the key.
    package var description: String { "SealingKey(\(hexadecimalText(of: id)))" }
    /// Shows only the id, so that a dump contains no secret.
    package var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: id)]) }
}

extension SymmetricKey {
    /// Creates a key of 32 random bytes. The array with the random bytes is wiped.
    static func random(_ randomBytes: (Int) -> [UInt8]) -> SymmetricKey {
        var bytes = randomBytes(SealingKey.keyLength)
        defer { wipe(&bytes) }
        return SymmetricKey(data: bytes)
    }
}

extension BackendError.Code {
    /// The key that sealed the stored data is missing.
    package static let encryptionKeyMissing = BackendError.Code("encryptionKeyMissing")
    /// The key is not the one that sealed the stored data.
    package static let encryptionKeyMismatch = BackendError.Code("encryptionKeyMismatch")
}
