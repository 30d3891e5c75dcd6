import BackendRuntime
import CSealing
import Crypto
import CryptoExtras
import Foundation

/// The code that computes AES and HMAC. Both implementations give the same bytes.
///
/// Reason: "BoringSSL is called directly" in Docs/Decisions/Keys.md.
enum CipherImplementation: CaseIterable, Sendable {
    /// The functions of BoringSSL that swift-crypto links, with keys that are prepared once.
    case boringSSL
    /// The public interface of swift-crypto, for builds that hide BoringSSL's headers.
    case swiftCrypto

    /// The faster implementation that this build has.
    static let preferred = sealing_is_available() ? boringSSL : swiftCrypto

    func cipher(_ key: SymmetricKey) -> any AES256 {
        switch self {
        case .boringSSL: PreparedAES(key)
        case .swiftCrypto: CryptoAES(key: key)
        }
    }
}

/// AES-256 with one key, and AES-256-GCM with the keys of messages.
protocol AES256: Sendable {
    /// Encrypts one block of 16 bytes. The result replaces the block.
    func encrypt(_ block: UnsafeMutableRawBufferPointer)
    /// Writes the ciphertext and the tag, 16 bytes more than the content. Returns false if that is impossible.
    func seal(_ content: UnsafeRawBufferPointer, _ message: SealedMessage, into sealed: UnsafeMutableRawBufferPointer) -> Bool
    /// Writes the content. Returns false if the bytes are not authentic.
    /// - Parameter sealed: The ciphertext and the tag, at least 16 bytes.
    func open(_ sealed: UnsafeRawBufferPointer, _ message: SealedMessage, into content: UnsafeMutableRawBufferPointer) -> Bool
}

/// The inputs of AES-256-GCM for one message. The memory is valid only during a call.
struct SealedMessage {
    let key: UnsafeRawBufferPointer
    let nonce: UnsafeRawBufferPointer
    let associatedData: UnsafeRawBufferPointer
}

private final class PreparedAES: AES256, @unchecked Sendable {
    // Safe to share between tasks: only `init` and `deinit` write to the memory.
    private let prepared: OpaquePointer

    init(_ key: SymmetricKey) {
        guard let prepared = key.withUnsafeBytes({ sealing_aes_make($0.baseAddress) }) else { fatalError("There is no memory.") }
        self.prepared = prepared
    }

    deinit { sealing_aes_free(prepared) }

    func encrypt(_ block: UnsafeMutableRawBufferPointer) {
        withExtendedLifetime(self) { sealing_aes_encrypt(prepared, block.baseAddress) }
    }

    func seal(_ content: UnsafeRawBufferPointer, _ message: SealedMessage, into sealed: UnsafeMutableRawBufferPointer) -> Bool {
        sealing_gcm_seal(
            message.key.baseAddress, message.nonce.baseAddress, content.baseAddress, content.count, message.associatedData.baseAddress,
            message.associatedData.count, sealed.baseAddress)
    }

    func open(_ sealed: UnsafeRawBufferPointer, _ message: SealedMessage, into content: UnsafeMutableRawBufferPointer) -> Bool {
        sealing_gcm_open(
            message.key.baseAddress, message.nonce.baseAddress, sealed.baseAddress, sealed.count, message.associatedData.baseAddress,
            message.associatedData.count, content.baseAddress)
    }
}

private struct CryptoAES: AES256 {
    let key: SymmetricKey

    func encrypt(_ block: UnsafeMutableRawBufferPointer) {
        var bytes = block.bindMemory(to: UInt8.self)
        do { try AES.permute(&bytes, key: key) } catch {
            preconditionFailure("A block of 16 bytes and a key of 32 are what AES-256 takes.")
        }
    }

    func seal(_ content: UnsafeRawBufferPointer, _ message: SealedMessage, into sealed: UnsafeMutableRawBufferPointer) -> Bool {
        guard
            let nonce = try? AES.GCM.Nonce(data: message.nonce),
            let box = try? AES.GCM.seal(
                content, using: SymmetricKey(data: message.key), nonce: nonce, authenticating: message.associatedData)
        else { return false }
        sealed.copyBytes(from: box.ciphertext + box.tag)
        return true
    }

    func open(_ sealed: UnsafeRawBufferPointer, _ message: SealedMessage, into content: UnsafeMutableRawBufferPointer) -> Bool {
        guard
            let nonce = try? AES.GCM.Nonce(data: message.nonce),
            let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: sealed.dropLast(16), tag: sealed.suffix(16)),
            var opened = try? AES.GCM.open(box, using: SymmetricKey(data: message.key), authenticating: message.associatedData)
        else { return false }
        defer { opened.withUnsafeMutableBytes { wipe($0) } }
        content.copyBytes(from: opened)
        return true
    }
}
