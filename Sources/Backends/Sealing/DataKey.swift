package import BackendContract
package import Crypto

/// A data key of a database, as the three keys that are derived from it: one to seal with, one to hide names with, one to check what stands in clear.
package struct DataKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key's name: 8 random bytes, in clear beside everything the key seals.
    package let id: [UInt8]
    /// Seals rows.
    package let sealing: XAES256GCM
    /// Begun with the indexing key: the same for every name.
    private let indexing: HMAC<SHA256>
    /// The id as a number, to compare by.
    let number: UInt64
    private let integrity: SymmetricKey

    /// The number of bytes of a slot's blind index.
    package static let slotLength = 16

    /// Derives the keys with HKDF-SHA256 (RFC 5869), the database's id being the salt.
    package init(id: [UInt8], key: SymmetricKey, database: [UInt8]) throws(BackendError) {
        func derived(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key, salt: database, info: Array("LocalData SQLite 1 \(purpose)".utf8), outputByteCount: 32)
        }
        self.id = id
        number = id.withUnsafeBytes { Self.number($0) }
        sealing = try XAES256GCM(key: derived("seal"))
        indexing = HMAC(key: derived("index"))
        integrity = derived("integrity")
    }

    /// The blind index of a name: what stands for it in a table, and tells nothing of it without the key.
    package func slot(of address: StorageAddress, table: String) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 slot")
        fields.add(table)
        fields.add(address.namespace.name)
        fields.add(address.name)
        var code = indexing
        fields.bytes.withUnsafeBytes { code.update(data: $0) }
        return code.finalize().withUnsafeBytes { Array($0.prefix(Self.slotLength)) }
    }

    /// The number of an id of 8 bytes; of one of another length, none that is a key's.
    static func number(_ id: UnsafeRawBufferPointer) -> UInt64 { id.count == SealingKey.idLength ? id.loadUnaligned(as: UInt64.self) : 0 }

    /// The tag of something that stands in clear.
    func tag(_ fields: Fields) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: integrity)) }

    /// Whether a tag is that of the fields; takes the same time wherever they differ.
    func isTag(_ tag: [UInt8], of fields: Fields) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: fields.bytes, using: integrity)
    }

    /// The key's id, never a key.
    package var description: String { "DataKey(\(hexadecimalText(of: id)))" }
    /// The id alone.
    package var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: id)]) }
}
