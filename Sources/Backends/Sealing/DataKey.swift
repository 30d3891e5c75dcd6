package import BackendContract
package import Crypto

/// A data key of a database, as the three keys that are derived from it: one to seal with, one to hide names with, one to check what stands in clear.
package struct DataKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key's name: 8 random bytes, in clear beside everything the key seals.
    package let id: [UInt8]
    /// Seals rows.
    package let sealing: XAES256GCM
    private let indexing: SymmetricKey
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
        sealing = try XAES256GCM(key: derived("seal"))
        indexing = derived("index")
        integrity = derived("integrity")
    }

    /// The blind index of a name: what stands for it in a table, and tells nothing of it without the key.
    package func slot(of address: StorageAddress, table: String) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 slot")
        fields.add(table.utf8)
        fields.add(address.namespace.name.utf8)
        fields.add(address.name.utf8)
        return Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: indexing).prefix(Self.slotLength))
    }

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
