package import BackendContract
internal import BackendRuntime
package import Crypto

/// A 256-bit key and its id. The id is computed from the key and says nothing about it; it is stored with everything the key seals.
package struct SealingKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key's id, 8 bytes: ``KeyIdentity/id(of:)``.
    package let id: [UInt8]
    /// The key.
    package let key: SymmetricKey

    /// The number of bytes in an id.
    package static let idLength = KeyIdentity.idLength
    /// The number of bytes in a key.
    package static let keyLength = 32

    /// Creates a key and computes its id.
    package init(key: SymmetricKey) {
        id = KeyIdentity.id(of: key)
        self.key = key
    }

    /// Takes the bytes of a key; nil unless there are 32.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.keyLength else { return nil }
        self.init(key: SymmetricKey(data: bytes))
    }

    /// Lends the key's bytes for the duration of a call.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try key.withUnsafeBytes(body) }

    /// Creates a key with the id of another one, as if somebody had found two keys with one id. Only a test can.
    init(collidingWith id: [UInt8], key: SymmetricKey) {
        self.id = id
        self.key = key
    }

    /// Creates a new key from random bytes.
    /// - Parameter randomBytes: Gives a number of unpredictable bytes.
    package static func random(_ randomBytes: (Int) -> [UInt8]) -> SealingKey { SealingKey(key: .random(randomBytes)) }

    /// A key for one purpose, derived with HKDF-SHA256 without a salt.
    /// - Parameter purpose: The info text.
    package func subkey(_ purpose: String) -> SymmetricKey {
        KeyDerivation.key(from: key, for: purpose.utf8)
    }

    /// How the metadata of a sealed record names its key: the format of the seal and the key's id.
    package static func name(of id: [UInt8]) -> String { "1:\(hexadecimalText(of: id))" }

    /// What the key is known by.
    package var identity: KeyIdentity { KeyIdentity(id: id, commitment: KeyIdentity.commitment(of: key)) }

    /// The key as one line of text: `LocalData-key-1 <id in hexadecimal> <key in base64>`.
    package var text: String {
        var bytes = textBytes()
        defer { wipe(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// ``text`` as bytes, which the caller wipes: there is no other copy.
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

    /// Reads ``text``, with or without a newline at its end.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` for anything else: shortened, foreign or garbage, or with an id that is not
    ///   that of the key.
    package init(text: String) throws(BackendError) {
        var bytes = Array(text.utf8)
        defer { wipe(&bytes) }
        try self.init(textBytes: bytes)
    }

    /// Reads ``text`` from its bytes, and leaves no copy of them.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch`.
    init(textBytes: [UInt8]) throws(BackendError) {
        let parts = textBytes.split { " \t\r\n".utf8.contains($0) }
        guard parts.count == 3, parts[0].elementsEqual("LocalData-key-1".utf8),
            let id = bytes(ofHexadecimal: String(decoding: parts[1], as: UTF8.self)), id.count == Self.idLength
        else { throw Self.malformed }
        let key = withUnsafeTemporaryAllocation(byteCount: Self.keyLength, alignment: 8) { raw -> SymmetricKey? in
            defer { wipe(raw) }
            return Base64.decode(parts[2], into: raw) ? SymmetricKey(data: UnsafeRawBufferPointer(raw)) : nil
        }
        guard let key else { throw Self.malformed }
        self.init(key: key)
        guard self.id == id else {
            throw BackendError(
                .encryptionKeyMismatch,
                "The line of a key says that its id is \(hexadecimalText(of: id)), and the key in it has the id \(hexadecimalText(of: self.id)). One of the two was changed. Restore the right key; nothing was changed."
            )
        }
    }

    /// Whether a payload is a key's text, or what is left of one: also as another program's text, or in the quotes of JSON.
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
            "What the key source holds is not a key of this library. Restore the right key; nothing was changed.")
    }

    /// The key's id, never the key.
    package var description: String { "SealingKey(\(hexadecimalText(of: id)))" }
    /// Nothing: a dump shows no secret.
    package var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: id)]) }
}

extension SymmetricKey {
    /// A new key of 32 random bytes; no copy of them is left.
    static func random(_ randomBytes: (Int) -> [UInt8]) -> SymmetricKey {
        var bytes = randomBytes(SealingKey.keyLength)
        defer { wipe(&bytes) }
        return SymmetricKey(data: bytes)
    }
}

extension BackendError.Code {
    /// The key that sealed what is stored is missing.
    package static let encryptionKeyMissing = BackendError.Code("encryptionKeyMissing")
    /// The key is not the one that sealed what is stored.
    package static let encryptionKeyMismatch = BackendError.Code("encryptionKeyMismatch")
}
