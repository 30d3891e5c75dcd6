package import BackendContract
internal import BackendRuntime
internal import Crypto
internal import Foundation

/// The chunks of a sealed file: the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár, 2015) over AES-256-GCM.
///
/// Chunks and nonces have the same layout as in the file format age. Each chunk has 65,536 bytes of content; the last
/// one may have fewer. The last chunk is empty only if the whole content is empty. The nonce is the number of the chunk
/// (11 bytes, from 0), and a byte that is 1 for the last chunk and otherwise 0.
///
/// The key is HKDF-SHA256 of the file key, which is random and sealed in the header, with the file's id as salt and the
/// info `LocalData stream 1 chunks`. The associated data is the header's tag. So a chunk does not open if it was moved
/// or repeated, is from another file, or follows a missing chunk. A truncated file does not open either.
package struct SealedStream: Sendable {
    /// The number of content bytes in a full chunk.
    package static let chunkLength = 64 << 10
    /// The number of bytes of a full chunk after sealing.
    package static let sealedLength = chunkLength + 16

    private let key: SymmetricKey
    private let data: [UInt8]
    private var number: UInt64 = 0
    private var isOver = false

    /// Creates a stream at its first chunk.
    package init(_ header: StreamHeader) {
        key = StreamHeader.subkey("chunks", header.key, header.id)
        data = header.tag
    }

    /// Seals the next chunk.
    package mutating func seal(_ chunk: [UInt8], isLast: Bool) throws(BackendError) -> [UInt8] {
        precondition(isLast ? chunk.count <= Self.chunkLength : chunk.count == Self.chunkLength, "Only the last chunk is shorter.")
        do {
            let box = try AES.GCM.seal(chunk, using: key, nonce: try nextNonce(isLast), authenticating: data)
            return Array(box.ciphertext) + Array(box.tag)
        } catch { throw BackendError(.failed, "A part of the file could not be sealed.") }
    }

    /// Opens the next chunk.
    /// - Throws: ``BackendError`` with `corrupted` if the bytes are not the next chunk of this file.
    package mutating func open(_ sealed: [UInt8], isLast: Bool) throws(BackendError) -> [UInt8] {
        let isEmptyAfterOthers = isLast && sealed.count == 16 && number > 0
        guard sealed.count >= 16, !isEmptyAfterOthers else { throw Self.damaged }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: try nextNonce(isLast), ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))
            var content = try AES.GCM.open(box, using: key, authenticating: data)
            defer { content.withUnsafeMutableBytes { wipe($0) } }
            return Array(content)
        } catch { throw Self.damaged }
    }

    private mutating func nextNonce(_ isLast: Bool) throws -> AES.GCM.Nonce {
        guard !isOver else { throw Self.damaged }
        isOver = isLast
        defer { number += 1 }
        var bytes = [UInt8](repeating: 0, count: 3)
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        return try AES.GCM.Nonce(data: bytes + [isLast ? 1 : 0])
    }

    private static let damaged = BackendError(
        .corrupted, "The file was cut off, changed or put together from several files. Use another copy; nothing was changed.")
}
