package import BackendContract
internal import BackendRuntime
package import Crypto

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

    private let aes: any AES256
    /// The CMAC subkey K1 as two numbers. It is the same for every message.
    private let subkey: (high: UInt64, low: UInt64)

    /// Prepares a key for many messages.
    /// - Parameter key: The key, 32 bytes.
    /// - Throws: ``BackendError`` with `failed` if the key has another length.
    package init(key: SymmetricKey) throws(BackendError) { try self.init(key: key, by: .preferred) }

    init(key: SymmetricKey, by implementation: CipherImplementation) throws(BackendError) {
        guard key.bitCount == Self.keyLength * 8 else {
            throw BackendError(.failed, "A key for XAES-256-GCM has 32 bytes, this one has not.")
        }
        let aes = implementation.cipher(key)
        self.aes = aes
        subkey = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { block in
            defer { wipe(block) }
            block.initializeMemory(as: UInt8.self, repeating: 0)
            aes.encrypt(block)
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
        let sealed = nonce.withUnsafeBytes { nonce in
            associatedData.withUnsafeBytes { data in
                withMessage(nonce, data) { message in
                    bytes(content.count + Self.tagLength) { aes.seal(content, message, into: $0) }
                }
            }
        }
        guard let sealed else { throw BackendError(.failed, "The value could not be sealed.") }
        return sealed
    }

    /// Seals an array, like ``seal(_:nonce:authenticating:)-(UnsafeRawBufferPointer,_,_)``.
    package func seal(_ content: [UInt8], nonce: [UInt8], authenticating associatedData: [UInt8]) throws(BackendError) -> [UInt8] {
        try content.withUnsafeBufferPointer { (bytes) throws(BackendError) in
            try seal(UnsafeRawBufferPointer(bytes), nonce: nonce, authenticating: associatedData)
        }
    }

    /// Opens the result of `seal`.
    /// - Parameters:
    ///   - sealed: The ciphertext and the tag.
    ///   - nonce: The nonce.
    ///   - associatedData: The data that the content is bound to.
    /// - Throws: ``BackendError`` with `corrupted` if the key or any of the inputs differs from sealing.
    package func open(_ sealed: [UInt8], nonce: [UInt8], authenticating associatedData: [UInt8]) throws(BackendError) -> [UInt8] {
        try sealed.withUnsafeBufferPointer { (sealed) throws(BackendError) in
            try nonce.withUnsafeBufferPointer { (nonce) throws(BackendError) in
                try open(UnsafeRawBufferPointer(sealed), nonce: UnsafeRawBufferPointer(nonce), authenticating: associatedData)
            }
        }
    }

    /// Opens a nonce, ciphertext and tag that are adjacent in memory. The memory is only read, and only during the call, so it may belong
    /// to a database.
    /// - Throws: ``BackendError`` with `corrupted` if the key or any of the inputs differs from sealing.
    package func open(nonceAndSealed: UnsafeRawBufferPointer, authenticating associatedData: [UInt8]) throws(BackendError) -> [UInt8] {
        guard nonceAndSealed.count >= Self.nonceLength else { throw Self.unopened }
        return try open(
            UnsafeRawBufferPointer(rebasing: nonceAndSealed[Self.nonceLength...]),
            nonce: UnsafeRawBufferPointer(rebasing: nonceAndSealed[..<Self.nonceLength]), authenticating: associatedData)
    }

    private func open(
        _ sealed: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        guard nonce.count == Self.nonceLength, sealed.count >= Self.tagLength else { throw Self.unopened }
        // Makes the array by copying, which takes less time than an array without content.
        var content = Array(UnsafeRawBufferPointer(rebasing: sealed.dropLast(Self.tagLength)))
        let isOpen = associatedData.withUnsafeBytes { data in
            withMessage(nonce, data) { message in content.withUnsafeMutableBytes { aes.open(sealed, message, into: $0) } }
        }
        guard isOpen else { throw Self.unopened }
        return content
    }

    /// Returns an array of bytes that a closure writes, or nil if it returns false.
    private func bytes(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Bool) -> [UInt8]? {
        var isWritten = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { memory, filled in
            isWritten = write(UnsafeMutableRawBufferPointer(memory))
            filled = isWritten ? count : 0
        }
        return isWritten ? bytes : nil
    }

    /// Derives the key of one message from the first 12 bytes of its nonce. The key is valid only during the call.
    private func withMessage<R>(
        _ nonce: UnsafeRawBufferPointer, _ associatedData: UnsafeRawBufferPointer, _ body: (SealedMessage) -> R
    ) -> R {
        let first = UInt32(bigEndian: nonce.loadUnaligned(as: UInt32.self))
        let rest = UInt64(bigEndian: nonce.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        return withUnsafeTemporaryAllocation(byteCount: Self.keyLength, alignment: 8) { key in
            defer { wipe(key) }
            for counter in [0, 1] {
                // The block has 16 bits of counter, the label "X", a zero byte and 96 bits of nonce. CMAC of a single
                // block is one encryption of the block xor K1.
                let block = UnsafeMutableRawBufferPointer(rebasing: key[counter * 16..<(counter + 1) * 16])
                let head = UInt64(counter + 1) << 48 | 0x58 << 40 | UInt64(first)
                block.storeBytes(of: (head ^ subkey.high).bigEndian, as: UInt64.self)
                block.storeBytes(of: (rest ^ subkey.low).bigEndian, toByteOffset: 8, as: UInt64.self)
                aes.encrypt(block)
            }
            let nonce = UnsafeRawBufferPointer(rebasing: nonce[12...])
            return body(SealedMessage(key: UnsafeRawBufferPointer(key), nonce: nonce, associatedData: associatedData))
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
