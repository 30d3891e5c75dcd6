import BackendContract
package import Crypto

/// The identity of a key, computed from the key: a short id and a commitment.
///
/// The id is stored with all data that the key seals. The commitment is recorded where another key must not be mistaken
/// for this one.
///
/// Id and commitment are HKDF-SHA256 (RFC 5869) of the key without a salt, and reveal nothing about it. An attacker can
/// make another key with the id of a given key in about 2^64 attempts. Two keys with the same commitment cannot be
/// made.
package struct KeyIdentity: Hashable, Sendable {
    /// The id, 8 bytes. The info of HKDF is `LocalData key id 1`.
    package let id: [UInt8]
    /// The commitment, 32 bytes. The info of HKDF is `LocalData key commitment 1`.
    let commitment: [UInt8]

    /// The number of bytes in an id.
    package static let idLength = 8
    /// The number of bytes in a commitment.
    static let commitmentLength = 32

    /// Computes the identity of a key.
    package init(of key: SymmetricKey) {
        let both = KeyDerivation.keys(from: key, for: [Self.idPurpose, Self.commitmentPurpose], count: Self.commitmentLength)
        self.init(
            id: both[0].withUnsafeBytes { Array($0.prefix(Self.idLength)) }, commitment: both[1].withUnsafeBytes { Array($0) })
    }

    init(id: [UInt8], commitment: [UInt8]) {
        self.id = id
        self.commitment = commitment
    }

    /// Parses ``text``. Returns nil for any other text.
    package init?(text: String) {
        let (digits, blank) = (Array(text.utf8), 2 * Self.idLength)
        guard digits.count == blank + 1 + 2 * Self.commitmentLength, digits[blank] == UInt8(ascii: " "),
            let id = bytes(ofHexadecimal: String(decoding: digits[..<blank], as: UTF8.self)),
            let commitment = bytes(ofHexadecimal: String(decoding: digits[(blank + 1)...], as: UTF8.self))
        else { return nil }
        self.init(id: id, commitment: commitment)
    }

    /// The id and the commitment in hexadecimal, separated by a space.
    package var text: String { "\(hexadecimalText(of: id)) \(hexadecimalText(of: commitment))" }

    /// Computes the id of a key.
    package static func id(of key: SymmetricKey) -> [UInt8] {
        KeyDerivation.key(from: key, for: idPurpose, count: idLength).withUnsafeBytes { Array($0) }
    }

    private static let idPurpose = Array("LocalData key id 1".utf8)
    private static let commitmentPurpose = Array("LocalData key commitment 1".utf8)
}
