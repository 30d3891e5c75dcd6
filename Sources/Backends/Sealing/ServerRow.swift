package import BackendContract
internal import BackendRuntime
package import Crypto

/// A sealed row in a store that many machines write. Each value has a separate row, so different values can be written
/// at the same time. There is no common row, such as a count, that every write changes.
package struct ServerRow: Hashable, Sendable {
    /// The blind index of the name: a keyed hash that replaces the name. It is the primary key.
    package var slot: [UInt8]
    /// The id of the data key, so that a query can select the rows of an older key. The sealed bytes contain it too.
    package var key: [UInt8]
    /// The row format `01`, the id of the data key, nonce, ciphertext and tag. A local database has the same format.
    package var sealed: [UInt8]

    /// Creates a row.
    package init(slot: [UInt8], key: [UInt8], sealed: [UInt8]) { (self.slot, self.key, self.sealed) = (slot, key, sealed) }
}

/// Seals and opens the rows of a store on a database server. The server never sees a name or a value.
///
/// A row that opens was written with the data key, for this name, application, kind of store and scope. Opening does
/// not prove that the row is the latest one, or that a missing row was removed. A malicious server can return older
/// rows and omit rows.
package struct ServerRowCodec: Sendable {
    /// A data key, as the two keys that are derived from it. The salt of the derivation is the context.
    private struct Key: Sendable {
        let id: [UInt8]
        let sealing: XAES256GCM
        let indexing: SymmetricKey
    }

    /// The context that the rows are bound to.
    package let context: StoreContext
    private let active: Key
    private let decryptOnly: [Key]

    /// Derives the keys for the rows with HKDF-SHA256 (RFC 5869).
    /// - Parameters:
    ///   - context: The application or tenant, the kind of store and its scope.
    ///   - active: The data key that seals.
    ///   - decryptOnly: The older data keys, which only open.
    package init(_ context: StoreContext, active: SymmetricKey, decryptOnly: [SymmetricKey] = []) throws(BackendError) {
        func derived(_ key: SymmetricKey) throws(BackendError) -> Key {
            func subkey(_ purpose: String) -> SymmetricKey {
                KeyDerivation.key(from: key, salt: context.bytes, for: "LocalData server 1 \(purpose)".utf8)
            }
            return Key(id: KeyIdentity.id(of: key), sealing: try XAES256GCM(key: subkey("seal")), indexing: subkey("index"))
        }
        self.context = context
        self.active = try derived(active)
        var older: [Key] = []
        for key in decryptOnly { older.append(try derived(key)) }
        self.decryptOnly = older
    }

    /// Returns the slots (primary keys) that may contain the row of a name: the slot for the active key, then the slots
    /// for the older keys.
    package func slots(of address: StorageAddress) -> [[UInt8]] { ([active] + decryptOnly).map { slot(of: address, $0) } }

    /// Seals a row with the active key.
    package func seal(_ content: RowContent, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerRow {
        var plain = content.padded()
        defer { wipe(&plain) }
        let slot = slot(of: content.address, active)
        let nonce = randomBytes(XAES256GCM.nonceLength)
        let sealed = try active.sealing.seal(plain, nonce: nonce, authenticating: associated(slot, active.id))
        return ServerRow(slot: slot, key: active.id, sealed: [Self.format] + active.id + nonce + sealed)
    }

    /// Opens the row that a server returned for a name.
    /// - Returns: The content and its revision. The revision is the nonce, or the kept revision of a row that was
    ///   sealed again.
    /// - Throws: ``BackendError`` with `corrupted` if the row belongs to another name, store or key, or was changed.
    package func open(_ row: ServerRow, at address: StorageAddress) throws(BackendError) -> (RowContent, StorageRevision) {
        let (content, revision) = try open(row)
        guard content.address == address else { throw Self.damage("belongs to another name") }
        return (content, revision)
    }

    /// Opens a row of a list, for any name.
    /// - Throws: ``BackendError`` with `corrupted` if the row belongs to another store or key, or was changed.
    package func open(_ row: ServerRow) throws(BackendError) -> (RowContent, StorageRevision) {
        guard row.sealed.count >= Self.headLength + XAES256GCM.nonceLength + XAES256GCM.tagLength, row.sealed[0] == Self.format else {
            throw Self.damage("has another format, or was cut off")
        }
        let id = Array(row.sealed[1..<Self.headLength])
        guard id == row.key, let key = ([active] + decryptOnly).first(where: { $0.id == id }) else {
            throw Self.damage("names a key that the store does not have")
        }
        let nonce = Array(row.sealed[Self.headLength..<Self.headLength + XAES256GCM.nonceLength])
        var plain: [UInt8]
        do throws(BackendError) {
            plain = try key.sealing.open(
                Array(row.sealed[(Self.headLength + nonce.count)...]), nonce: nonce, authenticating: associated(row.slot, id))
        } catch { throw Self.damage("was changed, or moved here from another slot") }
        defer { wipe(&plain) }
        let content: RowContent
        do throws(RecordDamage) { content = try RowContent(padded: plain) } catch { throw Self.damage(error.reason) }
        return (content, content.keptRevision ?? StorageRevision(nonce))
    }

    /// Seals the content of an older key's row again, with the active key. The new row has the slot for the active key,
    /// and the same revision.
    /// - Returns: The new row; nil if the active key has already sealed the row.
    /// - Throws: ``BackendError`` with `corrupted`, like ``open(_:)``.
    package func sealAgain(_ row: ServerRow, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerRow? {
        var (content, revision) = try open(row)
        guard row.key != active.id else { return nil }
        content.keptRevision = revision
        return try seal(content, randomBytes)
    }

    private func slot(of address: StorageAddress, _ key: Key) -> [UInt8] {
        var fields = Fields("LocalData server 1 slot")
        fields.add(address.namespace.name)
        fields.add(address.name)
        return Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: key.indexing).prefix(DataKey.slotLength))
    }

    private func associated(_ slot: [UInt8], _ key: [UInt8]) -> [UInt8] {
        var fields = Fields("LocalData server 1 record")
        fields.add(context)
        fields.add(slot)
        fields.add(key)
        return fields.bytes
    }

    private static let format: UInt8 = 1
    private static let headLength = 1 + SealingKey.idLength

    private static func damage(_ how: String) -> BackendError {
        BackendError(.corrupted, "A row of the store \(how). Another program, or the server, changed it; nothing was changed.")
    }
}
