import BackendContract
package import Crypto

/// What a key is known by, computed from the key itself: a short id, which stands beside everything that the key seals, and a commitment,
/// which is recorded where another key must not be mistaken for this one.
///
/// Both are HKDF-SHA256 (RFC 5869) of the key without a salt. Neither says anything about the key. Two keys can be made to have one id, with
/// much work (2^64 tries for the id of a given key); nobody can make two keys with one commitment.
package struct KeyIdentity: Hashable, Sendable {
    /// 8 bytes: with the info `LocalData key id 1`.
    package let id: [UInt8]
    /// 32 bytes: with the info `LocalData key commitment 1`.
    package let commitment: [UInt8]

    /// The number of bytes in an id.
    package static let idLength = 8
    /// The number of bytes in a commitment.
    package static let commitmentLength = 32

    /// Computes what a key is known by.
    package init(of key: SymmetricKey) { self.init(id: Self.id(of: key), commitment: Self.commitment(of: key)) }

    init(id: [UInt8], commitment: [UInt8]) {
        self.id = id
        self.commitment = commitment
    }

    /// Reads ``text``; nil for anything else.
    package init?(text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map { bytes(ofHexadecimal: String($0)) }
        guard parts.count == 2, let id = parts[0], let commitment = parts[1], id.count == Self.idLength,
            commitment.count == Self.commitmentLength
        else { return nil }
        self.init(id: id, commitment: commitment)
    }

    /// Id and commitment in hexadecimal, with a space between them.
    package var text: String { "\(hexadecimalText(of: id)) \(hexadecimalText(of: commitment))" }

    /// The id of a key.
    package static func id(of key: SymmetricKey) -> [UInt8] { derived(from: key, "LocalData key id 1", idLength) }

    /// The commitment of a key.
    package static func commitment(of key: SymmetricKey) -> [UInt8] { derived(from: key, "LocalData key commitment 1", commitmentLength) }

    private static func derived(from key: SymmetricKey, _ purpose: String, _ count: Int) -> [UInt8] {
        KeyDerivation.key(from: key, for: purpose.utf8, count: count).withUnsafeBytes { Array($0) }
    }
}
