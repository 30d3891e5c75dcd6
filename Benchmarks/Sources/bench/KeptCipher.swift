import CLibCrypto
import Foundation

/// AES-256-GCM with contexts that are kept, as in a careful program. swift-crypto makes a context for each message.
///
/// A message has the layout of the combined representation of swift-crypto: a nonce, the ciphertext, and a tag.
final class KeptCipher {
    private let opening: OpaquePointer
    private let sealing: OpaquePointer
    private var buffer: [UInt8] = []

    /// - Parameter key: 32 bytes.
    init(_ key: [UInt8]) {
        precondition(key.count == 32)
        guard let opening = bench_cipher(key, 0), let sealing = bench_cipher(key, 1) else { fatalError("no cipher") }
        (self.opening, self.sealing) = (opening, sealing)
    }

    deinit {
        bench_cipher_free(opening)
        bench_cipher_free(sealing)
    }

    /// Opens a message, and returns the first bytes of its content.
    func open(_ message: UnsafeRawBufferPointer, prefix: Int) -> Data {
        if buffer.count < message.count { buffer = [UInt8](repeating: 0, count: message.count) }
        let bytes = message.bindMemory(to: UInt8.self)
        let count = bench_cipher_open(opening, bytes.baseAddress, Int32(bytes.count), &buffer)
        guard count >= prefix else { fatalError("not opened") }
        return Data(buffer[..<prefix])
    }

    /// Seals a content under a random nonce.
    func seal(_ content: Data) -> Data {
        var message = [UInt8](repeating: 0, count: content.count + 28)
        let isSealed = content.withUnsafeBytes {
            bench_cipher_seal(sealing, $0.bindMemory(to: UInt8.self).baseAddress, Int32($0.count), &message)
        }
        guard isSealed == 1 else { fatalError("not sealed") }
        return Data(message)
    }
}
