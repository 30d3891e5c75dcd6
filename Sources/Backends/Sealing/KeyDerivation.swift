internal import BackendRuntime
package import Crypto

/// HKDF-SHA256 (RFC 5869) over HMAC-SHA256 (RFC 2104), which leaves nothing of a key, or of what a key can be computed from, in memory that it gives back.
///
/// swift-crypto (4.5) has both, but of the state of a hash it overwrites the first 8 bytes only, and of the key of an HMAC nothing; a key that is derived from is among what
/// stays. Here the state of each hash is overwritten by hashing on, once its result is known.
package enum KeyDerivation {
    private static let blockLength = 64
    private static let hashLength = 32

    /// Derives a key from another one.
    /// - Parameters:
    ///   - key: What is derived from: the input keying material.
    ///   - salt: The salt, which is no secret.
    ///   - purpose: The info.
    ///   - count: The number of bytes, at most 255 · 32.
    package static func key(
        from key: SymmetricKey, salt: [UInt8] = [], for purpose: some Sequence<UInt8>, count: Int = 32
    ) -> SymmetricKey {
        precondition((1...255 * hashLength).contains(count), "HKDF-SHA256 gives 1 to 8,160 bytes.")
        // Only a hash shortens a salt that is longer than a block.
        let salt = salt.count > blockLength ? Array(SHA256.hash(data: salt)) : salt
        let purpose = Array(purpose)
        return withUnsafeTemporaryAllocation(byteCount: 2 * hashLength + count + hashLength, alignment: 8) { memory in
            defer { wipe(memory) }
            let extracted = UnsafeMutableRawBufferPointer(rebasing: memory[..<hashLength])
            let block = UnsafeMutableRawBufferPointer(rebasing: memory[hashLength..<2 * hashLength])
            let derived = UnsafeMutableRawBufferPointer(rebasing: memory[(2 * hashLength)...])
            salt.withUnsafeBytes { salt in key.withUnsafeBytes { authenticate([$0], with: salt, into: extracted) } }
            purpose.withUnsafeBytes { purpose in
                for (number, start) in stride(from: 0, to: count, by: hashLength).enumerated() {
                    let before = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block)[..<(number == 0 ? 0 : hashLength)])
                    withUnsafeBytes(of: UInt8(number + 1)) {
                        authenticate([before, purpose, $0], with: UnsafeRawBufferPointer(extracted), into: block)
                    }
                    UnsafeMutableRawBufferPointer(rebasing: derived[start..<start + hashLength]).copyMemory(
                        from: UnsafeRawBufferPointer(block))
                }
            }
            wipeStack()
            return SymmetricKey(data: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(derived)[..<count]))
        }
    }

    /// HMAC-SHA256 of some parts, one after the other. Key and result are the caller's to overwrite.
    /// - Parameter key: At most 64 bytes.
    private static func authenticate(
        _ parts: [UnsafeRawBufferPointer], with key: UnsafeRawBufferPointer, into result: UnsafeMutableRawBufferPointer
    ) {
        withUnsafeTemporaryAllocation(byteCount: blockLength + hashLength, alignment: 8) { memory in
            defer { wipe(memory) }
            let padded = UnsafeMutableRawBufferPointer(rebasing: memory[..<blockLength])
            let inner = UnsafeMutableRawBufferPointer(rebasing: memory[blockLength...])
            func hash(_ pad: UInt8, _ parts: [UnsafeRawBufferPointer], into result: UnsafeMutableRawBufferPointer) {
                padded.initializeMemory(as: UInt8.self, repeating: pad)
                for (place, byte) in key.enumerated() { padded[place] ^= byte }
                var hash = SHA256()
                hash.update(bufferPointer: UnsafeRawBufferPointer(padded))
                for part in parts { hash.update(bufferPointer: part) }
                let digest = hash.finalize()
                digest.withUnsafeBytes { result.copyMemory(from: $0) }
                // Its result is taken; a block more leaves neither what it holds back nor the state that the key led to.
                wipe(padded)
                hash.update(bufferPointer: UnsafeRawBufferPointer(padded))
            }
            hash(0x36, parts, into: inner)
            hash(0x5C, [UnsafeRawBufferPointer(inner)], into: result)
        }
    }

    /// Overwrites the part of the stack that calls above this one have used.
    @inline(never) private static func wipeStack() {
        withUnsafeTemporaryAllocation(byteCount: 1_000, alignment: 8) { wipe($0) }
    }
}
