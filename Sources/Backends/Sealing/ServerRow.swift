package import BackendContract
internal import BackendRuntime
package import Crypto

/// A sealed row in a store that many machines write. Each value has a separate row, so different values can be written
/// at the same time. There is no common row, such as a count, that every write changes.
package struct ServerRow: Hashable, Sendable {
    /// The blind index of the namespace: a keyed hash that replaces it.
    package var namespace: [UInt8]
    /// The blind index of the name. It is the primary key, together with ``namespace``.
    package var slot: [UInt8]
    /// The revision: 16 random bytes, new with each write. A row that is sealed again keeps it.
    package var revision: [UInt8]
    /// The id of the data key, so that a query can select the rows of an older key. The sealed bytes contain it too.
    package var key: [UInt8]
    /// The row format `01`, the id of the data key, nonce, ciphertext and tag. A local database has the same format.
    package var sealed: [UInt8]

    /// The length of a revision in bytes.
    package static let revisionLength = 16

    /// Creates a row.
    package init(namespace: [UInt8], slot: [UInt8], revision: [UInt8], key: [UInt8], sealed: [UInt8]) {
        (self.namespace, self.slot, self.revision, self.key, self.sealed) = (namespace, slot, revision, key, sealed)
    }
}

/// Seals and opens the rows of a store on a database server. The server never sees a name or a value.
///
/// A row that opens was written with a data key of the store, for this name and this revision. Opening does not prove
/// that the row is the latest one, or that a missing row was removed. A malicious server can return older rows and omit
/// rows.
///
/// Data keys can be replaced, but the index key is the same for the lifetime of the store. A name therefore always has
/// the same slot, and machines that still use the former data key write to the same row.
package struct ServerRowCodec: Sendable {
    private struct Key: Sendable {
        let id: [UInt8]
        let sealing: XAES256GCM
    }

    private let salt: [UInt8]
    private let active: Key
    private let decryptOnly: [Key]
    private let indexing: KeyedHash

    /// Derives the keys for the rows with HKDF-SHA256 (RFC 5869). The salt is the context and the id of the store.
    /// - Parameters:
    ///   - context: The application or tenant, the kind of store and its scope.
    ///   - database: The id of the store.
    ///   - active: The data key that seals.
    ///   - decryptOnly: The older data keys, which only open.
    ///   - index: The key for the blind indexes of names, namespaces and labels.
    package init(
        _ context: StoreContext, database: [UInt8], active: SymmetricKey, decryptOnly: [SymmetricKey] = [], index: SymmetricKey
    ) throws(BackendError) {
        let salt = Self.salt(context, database)
        func key(_ key: SymmetricKey) throws(BackendError) -> Key {
            Key(id: KeyIdentity.id(of: key), sealing: try XAES256GCM(key: Self.derived(from: key, salt, "seal")))
        }
        self.salt = salt
        self.active = try key(active)
        var older: [Key] = []
        for one in decryptOnly { older.append(try key(one)) }
        self.decryptOnly = older
        indexing = KeyedHash(key: Self.derived(from: index, salt, "index"))
    }

    static func salt(_ context: StoreContext, _ database: [UInt8]) -> [UInt8] {
        var fields = Fields("LocalData server 1 store")
        fields.add(context)
        fields.add(database)
        return fields.bytes
    }

    static func derived(from key: SymmetricKey, _ salt: [UInt8], _ purpose: String) -> SymmetricKey {
        KeyDerivation.key(from: key, salt: salt, for: "LocalData server 1 \(purpose)".utf8)
    }

    /// The id of the data key that seals.
    package var activeID: [UInt8] { active.id }

    // MARK: Blind indexes

    /// Returns the blind index of a namespace.
    package func namespace(_ namespace: StorageNamespace) -> [UInt8] {
        var fields = Fields("LocalData server 1 namespace")
        fields.add(namespace.name)
        return blindIndex(fields)
    }

    /// Returns the blind index of a name.
    package func slot(of address: StorageAddress) -> [UInt8] {
        var fields = Fields("LocalData server 1 slot")
        fields.add(address.namespace.name)
        fields.add(address.name)
        return blindIndex(fields)
    }

    /// Returns the blind index of a label: a property that several values of a namespace share.
    package func label(_ namespace: StorageNamespace, _ parts: [String]) -> [UInt8] {
        var fields = Fields("LocalData server 1 label")
        fields.add(namespace.name)
        for part in parts { fields.add(part) }
        return blindIndex(fields)
    }

    private func blindIndex(_ fields: Fields) -> [UInt8] { indexing.code(of: fields, count: DataKey.slotLength) }

    // MARK: Rows

    /// Seals a row with the active key.
    /// - Parameters:
    ///   - content: The content.
    ///   - revision: The new revision of the row: ``ServerRow/revisionLength`` random bytes.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    package func seal(_ content: RowContent, _ revision: [UInt8], _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerRow {
        var plain = content.padded()
        defer { wipe(&plain) }
        let (namespace, slot) = (namespace(content.address.namespace), slot(of: content.address))
        let nonce = randomBytes(XAES256GCM.nonceLength)
        let sealed = try active.sealing.seal(plain, nonce: nonce, authenticating: associated(namespace, slot, revision, active.id))
        return ServerRow(
            namespace: namespace, slot: slot, revision: revision, key: active.id, sealed: [Self.format] + active.id + nonce + sealed)
    }

    /// Opens a row.
    /// - Throws: ``BackendError`` with `corrupted` if the row belongs to another name, revision, store or key, or was
    ///   changed.
    package func open(_ row: ServerRow) throws(BackendError) -> RowContent {
        guard row.sealed.count >= Self.headLength + XAES256GCM.nonceLength + XAES256GCM.tagLength, row.sealed[0] == Self.format else {
            throw Self.damage("has another format, or was cut off")
        }
        let id = Array(row.sealed[1..<Self.headLength])
        guard id == row.key, let key = active.id == id ? active : decryptOnly.first(where: { $0.id == id }) else {
            throw Self.damage("names a key that the store does not have")
        }
        let nonce = Array(row.sealed[Self.headLength..<Self.headLength + XAES256GCM.nonceLength])
        var plain: [UInt8]
        do throws(BackendError) {
            plain = try key.sealing.open(
                Array(row.sealed[(Self.headLength + nonce.count)...]), nonce: nonce,
                authenticating: associated(row.namespace, row.slot, row.revision, id))
        } catch { throw Self.damage("was changed, or moved here from another slot") }
        defer { wipe(&plain) }
        let content: RowContent
        do throws(RecordDamage) { content = try RowContent(padded: plain) } catch { throw Self.damage(error.reason) }
        guard row.slot == slot(of: content.address), row.namespace == namespace(content.address.namespace) else {
            throw Self.damage("belongs to another name")
        }
        return content
    }

    /// Seals the content of an older key's row again, with the active key. The new row has the same slot and revision.
    /// - Returns: The new row; nil if the active key has already sealed the row.
    /// - Throws: ``BackendError`` with `corrupted`, like ``open(_:)``.
    package func sealAgain(_ row: ServerRow, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerRow? {
        let content = try open(row)
        guard row.key != active.id else { return nil }
        return try seal(content, row.revision, randomBytes)
    }

    private func associated(_ namespace: [UInt8], _ slot: [UInt8], _ revision: [UInt8], _ key: [UInt8]) -> [UInt8] {
        Fields("LocalData server 1 record", salt, namespace, slot, revision, key).bytes
    }

    private static let format: UInt8 = 1
    private static let headLength = 1 + SealingKey.idLength

    private static func damage(_ how: String) -> BackendError {
        BackendError(.corrupted, "A row of the store \(how). Another program, or the server, changed it; nothing was changed.")
    }
}
