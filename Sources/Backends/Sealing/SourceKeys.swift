package import BackendContract
internal import BackendRuntime

/// The keys that a source holds: the one that seals, and others that only open, those before it as a rule.
///
/// As text they are one line each, the one that seals first. So a key that somebody provides by hand, as a credential, can be brought to every
/// machine as another line before it is made the first one.
package struct SourceKeys: Sendable {
    /// The key that seals.
    package let current: SealingKey
    /// The keys that only open, the latest first.
    package let others: [SealingKey]

    /// How many keys a source may hold.
    package static let limit = 8

    /// Takes the keys of a source.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` when there are too many, or two of them are one key.
    package init(_ current: SealingKey, others: [SealingKey] = []) throws(BackendError) {
        guard others.count < Self.limit, Set(([current] + others).map(\.id)).count == others.count + 1 else {
            throw BackendError(
                .encryptionKeyMismatch,
                "A key source holds 1 to \(Self.limit) different keys; this one does not. Remove the lines that are not needed.")
        }
        (self.current, self.others) = (current, others)
    }

    /// One key.
    package init(only key: SealingKey) { (current, others) = (key, []) }

    /// The key that seals, and those that only open.
    package var all: [SealingKey] { [current] + others }

    /// The key with an id.
    package func key(_ id: some Sequence<UInt8>) -> SealingKey? { all.first { $0.id.elementsEqual(id) } }

    /// Whether one of the keys is known by an identity.
    package func contains(_ identity: KeyIdentity) -> Bool { all.contains { $0.identity == identity } }

    /// Whether these are the same keys in the same order.
    func holdsSame(as other: SourceKeys) -> Bool { all.map(\.identity) == other.all.map(\.identity) }

    /// The same keys, and one more, which seals from now on.
    package func adding(_ key: SealingKey) throws(BackendError) -> SourceKeys { try SourceKeys(key, others: all) }

    /// The key that seals alone.
    package var withoutOthers: SourceKeys { SourceKeys(only: current) }

    /// ``SealingKey/text`` of each key, as bytes, which the caller wipes: there is no other copy.
    func textBytes(ending: String = "") -> [UInt8] {
        var bytes: [UInt8] = []
        // A larger buffer in place of a full one would leave a copy behind.
        bytes.reserveCapacity(all.count * 128 + ending.utf8.count)
        for (index, key) in all.enumerated() {
            var line = key.textBytes(ending: index + 1 < all.count ? "\n" : ending)
            bytes.append(contentsOf: line)
            wipe(&line)
        }
        return bytes
    }

    /// Reads ``textBytes(ending:)``, and leaves no copy.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch`, as ``SealingKey/init(text:)``.
    init(textBytes: [UInt8]) throws(BackendError) {
        var keys: [SealingKey] = []
        for line in textBytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            var bytes = Array(line)
            defer { wipe(&bytes) }
            if bytes.allSatisfy({ " \t".utf8.contains($0) }) { continue }
            keys.append(try SealingKey(textBytes: bytes))
            if keys.count > Self.limit { break }
        }
        guard let first = keys.first else { throw SealingKey.malformed }
        try self.init(first, others: Array(keys.dropFirst()))
    }
}
