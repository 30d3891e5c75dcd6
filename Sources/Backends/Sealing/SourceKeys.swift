package import BackendContract
internal import BackendRuntime

/// The keys of a key source: the current key, which seals, and other keys, which only open. Usually the others are
/// former current keys.
///
/// As text, each key is one line, and the current key is the first line. An administrator who distributes a credential
/// by hand can rotate it in two steps: first add the new key to every machine as a later line, then make it the first
/// line. Every machine can then open what another one has sealed with the new key.
package struct SourceKeys: Sendable {
    /// The key that seals.
    package let current: SealingKey
    /// The keys that only open, the latest first.
    package let others: [SealingKey]

    /// The maximum number of keys in a source.
    package static let limit = 8

    /// Creates the keys of a source.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` if there are too many keys, or two keys have the same
    ///   id.
    package init(_ current: SealingKey, others: [SealingKey] = []) throws(BackendError) {
        guard others.count < Self.limit, others.isEmpty || Set(([current] + others).map(\.id)).count == others.count + 1 else {
            throw BackendError(
                .encryptionKeyMismatch,
                "A key source holds 1 to \(Self.limit) different keys; this one does not. Remove the lines that are not needed.")
        }
        (self.current, self.others) = (current, others)
    }

    /// Creates the keys of a source that holds a single key.
    package init(only key: SealingKey) { (current, others) = (key, []) }

    /// All keys: the key that seals, then the keys that only open.
    package var all: [SealingKey] { [current] + others }

    /// Returns the key with an id; nil if there is none.
    package func key(_ id: some Sequence<UInt8>) -> SealingKey? { all.first { $0.id.elementsEqual(id) } }

    /// Returns whether one of the keys has this identity, which is its id and its commitment.
    package func contains(_ identity: KeyIdentity) -> Bool { current.identity == identity || others.contains { $0.identity == identity } }

    /// Returns whether these keys and `other` are the same keys in the same order.
    func holdsSame(as other: SourceKeys) -> Bool { all.map(\.identity) == other.all.map(\.identity) }

    /// Returns these keys after a new current key. In the result, these keys only open.
    package func adding(_ key: SealingKey) throws(BackendError) -> SourceKeys { try SourceKeys(key, others: all) }

    /// A copy that has only the current key, without the keys that only open.
    var withoutOthers: SourceKeys { SourceKeys(only: current) }

    /// Returns ``SealingKey/text`` of each key as bytes. No other copy is left, so the caller removes the keys from
    /// memory by wiping the result.
    func textBytes(ending: String = "") -> [UInt8] {
        var bytes: [UInt8] = []
        // Reserve the whole size, because an array that grows leaves a copy of the keys in its former buffer.
        bytes.reserveCapacity(all.count * 128 + ending.utf8.count)
        for (index, key) in all.enumerated() {
            var line = key.textBytes(ending: index + 1 < all.count ? "\n" : ending)
            bytes.append(contentsOf: line)
            wipe(&line)
        }
        return bytes
    }

    /// Parses the result of ``textBytes(ending:)`` and leaves no copy of the bytes.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` if a line is not a key, like ``SealingKey/init(text:)``.
    init(textBytes: [UInt8]) throws(BackendError) {
        var keys: [SealingKey] = []
        for line in textBytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            if line.allSatisfy({ " \t".utf8.contains($0) }) { continue }
            keys.append(try SealingKey(textBytes: line))
            if keys.count > Self.limit { break }
        }
        guard let first = keys.first else { throw SealingKey.malformed }
        try self.init(first, others: Array(keys.dropFirst()))
    }
}
