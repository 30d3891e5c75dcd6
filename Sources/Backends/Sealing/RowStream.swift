package import BackendContract
internal import BackendRuntime
internal import Crypto

/// Large content of a value, kept outside of its row in sealed chunks: what the row says of it.
///
/// The chunks are the STREAM construction, as in ``SealedStream``, under a random key that only the row holds. So they need not be sealed
/// again when the row gets another data key, and whoever destroys the row has destroyed them.
package struct RowStream: Hashable, Sendable {
    /// The place of the first chunk; the others follow it.
    package let place: Int64
    /// The bytes of the content.
    package let length: Int64
    /// 32 random bytes, made for these chunks alone.
    let key: [UInt8]

    /// The number of bytes that ``write(to:)`` appends.
    static let byteCount = 8 + 8 + keyLength
    private static let keyLength = 32

    /// How many places each stream has to itself, as a power of two.
    package static let placeBits = 24

    /// The most bytes of a stream: as many as chunks have places.
    package static let maximumLength = Int64(SealedStream.chunkLength) << (placeBits - 1)

    /// Makes a key for new chunks.
    /// - Parameters:
    ///   - place: The place of the first, a multiple of the places of a stream.
    ///   - length: The bytes of the content, at most ``maximumLength``.
    package init(place: Int64, length: Int64, _ randomBytes: (Int) -> [UInt8]) {
        precondition(length >= 0 && length <= Self.maximumLength, "The length was checked before.")
        (self.place, self.length) = (place, length)
        key = randomBytes(Self.keyLength)
    }

    /// Reads what ``write(to:)`` wrote.
    init(_ reader: inout ByteReader) throws(RecordDamage) {
        place = try reader.fixed(Int64.self)
        length = try reader.fixed(Int64.self)
        key = try reader.take(Self.keyLength)
        guard place >= 0, place % (1 << Self.placeBits) == 0, length >= 0, length <= Self.maximumLength else {
            throw RecordDamage("has a large content of no possible size or place")
        }
    }

    /// Appends place, length and key.
    func write(to writer: inout ByteWriter) {
        writer.fixed(place)
        writer.fixed(length)
        writer.bytes.append(contentsOf: key)
    }

    /// The bytes of all chunks before they are sealed: the content, and zeros up to its size class.
    package var paddedLength: Int64 { Int64(SizeClass.padded(max(1, Int(length)))) }

    /// The number of chunks.
    package var count: Int64 { (paddedLength + Int64(SealedStream.chunkLength) - 1) / Int64(SealedStream.chunkLength) }

    /// The bytes of the content, without what fills it up, that a chunk has.
    package func contentRange(ofChunk number: Int64) -> Range<Int64> {
        let start = number * Int64(SealedStream.chunkLength)
        return min(start, length)..<min(start + Int64(SealedStream.chunkLength), length)
    }

    /// Seals chunks, from the first one on.
    /// - Parameters:
    ///   - database: The database's id.
    ///   - address: The name of the value.
    package func sealer(database: [UInt8], _ address: StorageAddress) -> SealedStream { stream(database, address, from: 0) }

    /// Opens one chunk, and takes off what fills it up.
    /// - Throws: ``BackendError`` with `corrupted` for anything else than this chunk of this value.
    package func open(_ sealed: [UInt8], number: Int64, database: [UInt8], _ address: StorageAddress) throws(BackendError) -> [UInt8] {
        var stream = stream(database, address, from: UInt64(number))
        var content: [UInt8]
        do throws(BackendError) { content = try stream.open(sealed, isLast: number == count - 1) } catch { throw Self.damage(number) }
        let range = contentRange(ofChunk: number)
        guard content[range.count...].allSatisfy({ $0 == 0 }) else { throw Self.damage(number) }
        content.removeSubrange(range.count...)
        return content
    }

    private func stream(_ database: [UInt8], _ address: StorageAddress, from number: UInt64) -> SealedStream {
        var fields = Fields("LocalData SQLite 1 chunk")
        fields.add(database)
        fields.add(address.namespace.name)
        fields.add(address.name)
        fields.add(place)
        fields.add(length)
        let chunks = KeyDerivation.key(from: SymmetricKey(data: key), salt: database, for: "LocalData SQLite 1 chunks".utf8)
        return SealedStream(key: chunks, authenticating: fields.bytes, from: number)
    }

    /// The error of a chunk that is not there, or not the one that was written.
    package static func damage(_ number: Int64) -> BackendError {
        BackendError(
            .corrupted,
            "The part \(number) of a large value is missing, or not the one that was written. Restore the database from a backup, or replace the value; nothing was changed."
        )
    }
}
