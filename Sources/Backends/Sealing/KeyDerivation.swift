import BackendRuntime
import Crypto

/// HKDF-SHA256 (RFC 5869) over ``KeyedHash``. It leaves no key in freed memory, and no data that a key can be computed
/// from.
///
/// Reason: "HKDF is computed here" in Docs/Decisions/Keys.md.
enum KeyDerivation {
    private static let hashLength = KeyedHash.length
    /// HMAC with an empty salt.
    private static let unsalted = KeyedHash(key: UnsafeRawBufferPointer(start: nil, count: 0))

    /// Derives a key from another key.
    /// - Parameters:
    ///   - key: The input keying material.
    ///   - salt: The salt, which is not secret.
    ///   - purpose: The info input.
    ///   - count: The number of bytes in the result, at most 255 · 32.
    static func key(
        from key: SymmetricKey, salt: [UInt8] = [], for purpose: some Sequence<UInt8>, count: Int = 32
    ) -> SymmetricKey {
        keys(from: key, salt: salt, for: [Array(purpose)], count: count)[0]
    }

    /// Derives several keys from another key. Each is the key that ``key(from:salt:for:count:)`` returns for its purpose.
    static func keys(
        from key: SymmetricKey, salt: [UInt8] = [], for purposes: [[UInt8]], count: Int = 32
    ) -> [SymmetricKey] {
        precondition((1...255 * hashLength).contains(count), "HKDF-SHA256 gives 1 to 8,160 bytes.")
        // HMAC replaces a key that is longer than a block with its hash. The salt is the key of the first HMAC.
        let salt = salt.count > 64 ? Array(SHA256.hash(data: salt)) : salt
        return withUnsafeTemporaryAllocation(byteCount: hashLength + count + hashLength, alignment: 8) { memory in
            defer { wipe(memory) }
            let extracted = UnsafeMutableRawBufferPointer(rebasing: memory[..<hashLength])
            let derived = UnsafeMutableRawBufferPointer(rebasing: memory[hashLength...])
            let extracting = salt.isEmpty ? unsalted : salt.withUnsafeBytes { KeyedHash(key: $0) }
            key.withUnsafeBytes { extracting.compute($0, into: extracted) }
            defer { wipeStack() }
            let expanding = KeyedHash(key: UnsafeRawBufferPointer(extracted))
            return purposes.map { purpose in
                purpose.withUnsafeBytes { expand(expanding, $0, count, into: derived) }
                return SymmetricKey(data: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(derived)[..<count]))
            }
        }
    }

    /// Writes the keying material of a purpose. Each block of it is the code of the block before, the purpose and a
    /// number.
    private static func expand(
        _ expanding: KeyedHash, _ purpose: UnsafeRawBufferPointer, _ count: Int, into derived: UnsafeMutableRawBufferPointer
    ) {
        withUnsafeTemporaryAllocation(byteCount: hashLength + purpose.count + 1, alignment: 8) { input in
            defer { wipe(input) }
            UnsafeMutableRawBufferPointer(rebasing: input[hashLength...]).copyMemory(from: purpose)
            for (number, start) in stride(from: 0, to: count, by: hashLength).enumerated() {
                input[input.count - 1] = UInt8(number + 1)
                let code = UnsafeMutableRawBufferPointer(rebasing: derived[start..<start + hashLength])
                expanding.compute(UnsafeRawBufferPointer(rebasing: input[(number == 0 ? hashLength : 0)...]), into: code)
                input.copyMemory(from: UnsafeRawBufferPointer(code))
            }
        }
    }

    /// Overwrites the part of the stack where the calls before this one may have left copies of keys.
    @inline(never) private static func wipeStack() {
        withUnsafeTemporaryAllocation(byteCount: 1_000, alignment: 8) { wipe($0) }
    }
}
