package import BackendContract
internal import BackendRuntime
package import Crypto
internal import CryptoExtras
internal import Foundation

/// XAES-256-GCM: AES-256-GCM with a nonce of 24 bytes. Random nonces are safe for a practically unlimited number of
/// messages.
///
/// Source: C2SP, c2sp.org/XAES-256-GCM. The key of a message is two blocks of AES-256 under the sealing key. They are
/// derived from the first 12 bytes of the nonce (NIST SP 800-108r1 in counter mode with CMAC, NIST SP 800-38B). The
/// other 12 bytes are the nonce of AES-256-GCM (NIST SP 800-38D) under that key.
///
/// The cipher encrypts the content, and detects changes of the content, the nonce and the associated data. It does not
/// hide the length of the content. It does not commit to the key: an attacker can make bytes that open under two keys.
package struct XAES256GCM: Sendable, CustomStringConvertible, CustomReflectable {
    /// The number of bytes in a key.
    package static let keyLength = 32
    /// The number of bytes in a nonce.
    package static let nonceLength = 24
    /// The number of bytes in a tag, which sealing adds to the content.
    package static let tagLength = 16

    private let key: SymmetricKey
    /// The CMAC subkey K1 as two numbers. It is the same for every message.
    private let subkey: (high: UInt64, low: UInt64)

    /// Prepares a key for many messages.
    /// - Parameter key: The key, 32 bytes.
    /// - Throws: ``BackendError`` with `failed` if the key has another length.
    package init(key: SymmetricKey) throws(BackendError) {
        guard key.bitCount == Self.keyLength * 8 else {
            throw BackendError(.failed, "A key for XAES-256-GCM has 32 bytes, this one has not.")
        }
        self.key = key
        subkey = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { block in
            defer { wipe(block) }
            block.initializeMemory(as: UInt8.self, repeating: 0)
            Self.encrypt(block, with: key)
            let high = UInt64(bigEndian: block.load(as: UInt64.self))
            let low = UInt64(bigEndian: block.load(fromByteOffset: 8, as: UInt64.self))
            // Doubling in GF(2^128): 0x87 stands for x^7 + x^2 + x + 1. The mask is all ones or zero, so that no branch
            // depends on the key.
            let carry = UInt64(bitPattern: Int64(bitPattern: high) >> 63)
            return (high << 1 | low >> 63, low << 1 ^ (carry & 0x87))
        }
    }

    /// Seals content.
    /// - Parameters:
    ///   - content: The content to encrypt and authenticate. Its length stays visible.
    ///   - nonce: 24 bytes that were never used with this key, preferably random.
    ///   - associatedData: The data that the content is bound to. Opening needs the same data.
    /// - Returns: The ciphertext, which is as long as the content, and the tag.
    /// - Throws: ``BackendError`` with `failed` if the nonce has another length.
    package func seal(
        _ content: UnsafeRawBufferPointer, nonce: [UInt8], authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        guard nonce.count == Self.nonceLength else {
            throw BackendError(.failed, "A nonce of XAES-256-GCM has 24 bytes, this one has not.")
        }
        do {
            let box = try AES.GCM.seal(
                content, using: nonce.withUnsafeBytes { messageKey($0) }, nonce: AES.GCM.Nonce(data: nonce[12...]),
                authenticating: associatedData)
            return Array(unsafeUninitializedCapacity: content.count + Self.tagLength) { bytes, filled in
                _ = box.ciphertext.copyBytes(to: bytes)
                _ = box.tag.copyBytes(to: UnsafeMutableBufferPointer(rebasing: bytes[content.count...]))
                filled = bytes.count
            }
        } catch {
            throw BackendError(.failed, "The value could not be sealed.")
        }
    }

    /// Seals an array, like ``seal(_:nonce:authenticating:)-(UnsafeRawBufferPointer,_,_)``.
    package func seal(_ content: [UInt8], nonce: [UInt8], authenticating associatedData: [UInt8]) throws(BackendError) -> [UInt8] {
        try content.withUnsafeBufferPointer { (bytes) throws(BackendError) in
            try seal(UnsafeRawBufferPointer(bytes), nonce: nonce, authenticating: associatedData)
        }
    }

    /// Opens the result of `seal`. The memory is only read, and only during the call, so it may belong to a database.
    /// - Parameters:
    ///   - sealed: The ciphertext and the tag.
    ///   - nonce: The nonce.
    ///   - associatedData: The data that the content is bound to.
    /// - Throws: ``BackendError`` with `corrupted` if the key or any of the inputs differs from sealing.
    package func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        guard nonce.count == Self.nonceLength else { throw Self.unopened }
        return try withUnsafeTemporaryAllocation(byteCount: nonce.count + sealed.count, alignment: 8) { (whole) throws(BackendError) in
            whole.copyBytes(from: nonce)
            UnsafeMutableRawBufferPointer(rebasing: whole[nonce.count...]).copyMemory(from: sealed)
            return try open(nonceAndSealed: UnsafeRawBufferPointer(whole), authenticating: associatedData)
        }
    }

    /// Opens an array, like ``open(_:nonce:authenticating:)-(UnsafeRawBufferPointer,_,_)``.
    package func open(_ sealed: [UInt8], nonce: [UInt8], authenticating associatedData: [UInt8]) throws(BackendError) -> [UInt8] {
        try sealed.withUnsafeBufferPointer { (bytes) throws(BackendError) in
            try open(UnsafeRawBufferPointer(bytes), nonce: nonce, authenticating: associatedData)
        }
    }

    /// Opens a nonce, ciphertext and tag that are adjacent in memory. This is the fastest way, because it copies the
    /// ciphertext once less.
    /// - Throws: ``BackendError`` with `corrupted` if the key or any of the inputs differs from sealing.
    package func open(nonceAndSealed: UnsafeRawBufferPointer, authenticating associatedData: [UInt8]) throws(BackendError) -> [UInt8] {
        guard nonceAndSealed.count >= Self.nonceLength + Self.tagLength else { throw Self.unopened }
        do {
            let box = try AES.GCM.SealedBox(combined: UnsafeRawBufferPointer(rebasing: nonceAndSealed[12...]))
            var content = try AES.GCM.open(box, using: messageKey(nonceAndSealed), authenticating: associatedData)
            defer { content.withUnsafeMutableBytes { wipe($0) } }
            return Array(unsafeUninitializedCapacity: content.count) { bytes, filled in filled = content.copyBytes(to: bytes) }
        } catch {
            throw Self.unopened
        }
    }

    /// Derives the key of one message from the first 12 bytes of its nonce.
    private func messageKey(_ nonce: UnsafeRawBufferPointer) -> SymmetricKey {
        let first = UInt32(bigEndian: nonce.loadUnaligned(as: UInt32.self))
        let rest = UInt64(bigEndian: nonce.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        return withUnsafeTemporaryAllocation(byteCount: Self.keyLength, alignment: 8) { derived in
            defer { wipe(derived) }
            for counter in [1, 2] as [UInt64] {
                // The block has 16 bits of counter, the label "X", a zero byte and 96 bits of nonce. CMAC of a single
                // block is one encryption of the block xor K1.
                let block = UnsafeMutableRawBufferPointer(rebasing: derived[(Int(counter) - 1) * 16..<Int(counter) * 16])
                block.storeBytes(of: ((counter << 48 | 0x58 << 40 | UInt64(first)) ^ subkey.high).bigEndian, as: UInt64.self)
                block.storeBytes(of: (rest ^ subkey.low).bigEndian, toByteOffset: 8, as: UInt64.self)
                Self.encrypt(block, with: key)
            }
            return SymmetricKey(data: UnsafeRawBufferPointer(derived))
        }
    }

    private static func encrypt(_ block: UnsafeMutableRawBufferPointer, with key: SymmetricKey) {
        var bytes = block.bindMemory(to: UInt8.self)
        do { try AES.permute(&bytes, key: key) } catch {
            preconditionFailure("A block of 16 bytes and a key of 32 are what AES-256 takes.")
        }
    }

    private static var unopened: BackendError {
        BackendError(
            .corrupted, "The sealed value was changed, or it was sealed with another key or for another slot. Nothing was changed now.")
    }

    /// The name of the cipher. The description never contains the key.
    package var description: String { "XAES-256-GCM" }
    /// Shows no children, so that a dump contains no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
