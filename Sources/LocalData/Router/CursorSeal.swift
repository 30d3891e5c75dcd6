import BackendRuntime
import Crypto
import Foundation
import Synchronization

/// Encrypts cursors of ordered pages, because they contain values of records. The key exists only in this process and
/// is made when it is first needed.
final class CursorSeal: Sendable {
    private let key = Mutex<SymmetricKey?>(nil)

    /// Encrypts the content of a cursor.
    /// - Parameter context: The bytes that ``open(_:_:)`` must get too.
    func seal(_ content: [UInt8], _ context: [UInt8], _ runtime: Runtime) throws -> [UInt8] {
        let key = key.withLock { key in
            let present = key ?? SymmetricKey(data: runtime.randomBytes(32))
            key = present
            return present
        }
        let nonce = try AES.GCM.Nonce(data: runtime.randomBytes(12))
        return Array(try AES.GCM.seal(content, using: key, nonce: nonce, authenticating: context).combined ?? Data())
    }

    /// Decrypts the content of a cursor; nil if this seal did not make it for the same context.
    func open(_ bytes: [UInt8], _ context: [UInt8]) -> [UInt8]? {
        guard let key = key.withLock({ $0 }), let box = try? AES.GCM.SealedBox(combined: bytes) else { return nil }
        return (try? AES.GCM.open(box, using: key, authenticating: context)).map { Array($0) }
    }
}
