import BackendRuntime
import CSealing
import Crypto

/// HMAC-SHA256 (RFC 2104) with one key. The copies of the key and of what depends on it are overwritten before their
/// memory is freed.
struct KeyedHash: Sendable {
    /// The number of bytes in a code.
    static let length = 32
    private static let blockLength = 64

    private let prepared: Prepared

    /// Prepares a key for many codes.
    /// - Parameters:
    ///   - key: The key, at most 64 bytes.
    ///   - implementation: What computes SHA-256. Both give the same bytes.
    init(key: UnsafeRawBufferPointer, by implementation: CipherImplementation = .preferred) {
        precondition(key.count <= Self.blockLength, "A key of HMAC-SHA256 has at most a block of 64 bytes.")
        prepared = Prepared(key, implementation)
    }

    /// Prepares a key for many codes, like ``init(key:by:)-(UnsafeRawBufferPointer,_)``.
    init(key: SymmetricKey, by implementation: CipherImplementation = .preferred) {
        self = key.withUnsafeBytes { KeyedHash(key: $0, by: implementation) }
    }

    /// Returns the first bytes of the code of fields; all 32 without a count.
    func code(of fields: Fields, count: Int = Self.length) -> [UInt8] {
        fields.bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(byteCount: Self.length, alignment: 8) { code in
                compute(bytes, into: code)
                return Array(code[..<count])
            }
        }
    }

    /// Computes the code of bytes.
    /// - Parameter code: Memory for 32 bytes.
    func compute(_ bytes: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer) { prepared.compute(bytes, code) }

    private final class Prepared: @unchecked Sendable {
        // Safe to share between tasks: only `init` and `deinit` write to the memory.
        private let states: OpaquePointer?
        private let key: SecretBytes?

        init(_ key: UnsafeRawBufferPointer, _ implementation: CipherImplementation) {
            states = implementation == .boringSSL ? sealing_hmac_make(key.baseAddress, key.count) : nil
            self.key = states == nil ? SecretBytes(key) : nil
        }

        deinit { states.map(sealing_hmac_free) }

        func compute(_ bytes: UnsafeRawBufferPointer, _ code: UnsafeMutableRawBufferPointer) {
            defer { withExtendedLifetime(self) {} }
            if let states { return sealing_hmac_compute(states, bytes.baseAddress, bytes.count, code.baseAddress) }
            key?.withBytes { key in
                hash(0x36, key, bytes, into: code)
                hash(0x5C, key, UnsafeRawBufferPointer(code), into: code)
            }
        }

        /// Hashes the key's block and bytes, with swift-crypto's SHA-256. Afterwards it hashes one more block, because
        /// swift-crypto (4.5) does not wipe the state of a hash.
        private func hash(
            _ pad: UInt8, _ key: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer, into result: UnsafeMutableRawBufferPointer
        ) {
            withUnsafeTemporaryAllocation(byteCount: KeyedHash.blockLength, alignment: 8) { block in
                block.initializeMemory(as: UInt8.self, repeating: pad)
                for (place, byte) in key.enumerated() { block[place] ^= byte }
                var hash = SHA256()
                hash.update(bufferPointer: UnsafeRawBufferPointer(block))
                hash.update(bufferPointer: bytes)
                hash.finalize().withUnsafeBytes { result.copyMemory(from: $0) }
                wipe(block)
                hash.update(bufferPointer: UnsafeRawBufferPointer(block))
            }
        }
    }
}
