internal import BackendRuntime
package import Crypto

/// HKDF-SHA256 (RFC 5869) over HMAC-SHA256 (RFC 2104). It leaves no key in freed memory, and no data that a key can be
/// computed from.
///
/// swift-crypto (4.5) has both functions, but does not wipe their memory. This code takes the result of each hash, and
/// then hashes one more block. That overwrites the state of the hash.
/// Reason: "HKDF is computed here, over swift-crypto's SHA-256" in Docs/Decisions/Keys.md.
package enum KeyDerivation {
    private static let blockLength = 64
    private static let hashLength = 32

    /// Derives a key from another key.
    /// - Parameters:
    ///   - key: The input keying material.
    ///   - salt: The salt, which is not secret.
    ///   - purpose: The info input.
    ///   - count: The number of bytes in the result, at most 255 · 32.
    package static func key(
        from key: SymmetricKey, salt: [UInt8] = [], for purpose: some Sequence<UInt8>, count: Int = 32
    ) -> SymmetricKey {
        keys(from: key, salt: salt, for: [Array(purpose)], count: count)[0]
    }

    /// Derives several keys from another key. Each is the key that ``key(from:salt:for:count:)`` returns for its purpose.
    package static func keys(
        from key: SymmetricKey, salt: [UInt8] = [], for purposes: [[UInt8]], count: Int = 32
    ) -> [SymmetricKey] {
        precondition((1...255 * hashLength).contains(count), "HKDF-SHA256 gives 1 to 8,160 bytes.")
        // HMAC replaces a key that is longer than a block with its hash. The salt is the key of the first HMAC.
        let salt = salt.count > blockLength ? Array(SHA256.hash(data: salt)) : salt
        return withUnsafeTemporaryAllocation(byteCount: 2 * hashLength + count + hashLength, alignment: 8) { memory in
            defer { wipe(memory) }
            let extracted = UnsafeMutableRawBufferPointer(rebasing: memory[..<hashLength])
            let block = UnsafeMutableRawBufferPointer(rebasing: memory[hashLength..<2 * hashLength])
            let derived = UnsafeMutableRawBufferPointer(rebasing: memory[(2 * hashLength)...])
            salt.withUnsafeBytes { salt in key.withUnsafeBytes { authenticate([$0], with: salt, into: extracted) } }
            defer { wipeStack() }
            return purposes.map { purpose in
                purpose.withUnsafeBytes { expand(UnsafeRawBufferPointer(extracted), $0, count, block, into: derived) }
                return SymmetricKey(data: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(derived)[..<count]))
            }
        }
    }

    private static func expand(
        _ extracted: UnsafeRawBufferPointer, _ purpose: UnsafeRawBufferPointer, _ count: Int, _ block: UnsafeMutableRawBufferPointer,
        into derived: UnsafeMutableRawBufferPointer
    ) {
        for (number, start) in stride(from: 0, to: count, by: hashLength).enumerated() {
            let before = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block)[..<(number == 0 ? 0 : hashLength)])
            withUnsafeBytes(of: UInt8(number + 1)) { authenticate([before, purpose, $0], with: extracted, into: block) }
            UnsafeMutableRawBufferPointer(rebasing: derived[start..<start + hashLength]).copyMemory(from: UnsafeRawBufferPointer(block))
        }
    }

    /// Computes HMAC-SHA256 of the concatenated parts. The caller must overwrite the key and the result after use.
    /// - Parameter key: The key, at most 64 bytes.
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
                // The digest is in `result` now. Hash one more block to overwrite the buffered input and the state of
                // the hash, which depends on the key.
                wipe(padded)
                hash.update(bufferPointer: UnsafeRawBufferPointer(padded))
            }
            hash(0x36, parts, into: inner)
            hash(0x5C, [UnsafeRawBufferPointer(inner)], into: result)
        }
    }

    /// Overwrites the part of the stack where the calls before this one may have left copies of keys.
    @inline(never) private static func wipeStack() {
        withUnsafeTemporaryAllocation(byteCount: 1_000, alignment: 8) { wipe($0) }
    }
}
