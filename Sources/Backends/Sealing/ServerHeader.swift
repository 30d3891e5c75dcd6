package import BackendContract
internal import BackendRuntime
internal import Crypto

/// The header of a sealed store on a database server: its id, its context, and its wrapped keys. It is not encrypted.
/// A tag authenticates it.
package struct ServerHeader: Hashable, Sendable {
    /// The id of the store: 16 random bytes.
    package let database: [UInt8]
    /// The application, kind and scope that the store belongs to.
    package let context: StoreContext
    /// The data keys, wrapped for each recipient. A recipient is a key that can unwrap them.
    package let keys: KeyTables
    /// The index key, sealed with the active data key. The rotation of the data key does not replace it.
    package let index: [UInt8]
    /// The tag of the other parts, computed with the active data key.
    package let tag: [UInt8]

    /// Creates a header from its stored parts.
    package init(database: [UInt8], context: StoreContext, keys: KeyTables, index: [UInt8], tag: [UInt8]) {
        (self.database, self.context, self.keys, self.index, self.tag) = (database, context, keys, index, tag)
    }

    /// Creates the header of a new store, with a new data key and a new index key.
    /// - Parameters:
    ///   - context: The application, kind and scope that the store belongs to.
    ///   - kek: The key-encryption key, which wraps the data key.
    ///   - source: The short name of the source that holds `kek`.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    package static func make(
        _ context: StoreContext, kek: SealingKey, source: String, _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> ServerHeader {
        let database = randomBytes(Keyset.databaseLength)
        let key = SymmetricKey.random(randomBytes)
        let wrap = try KeyEncryptionKey(kek, database: database).wrap(key, source: source, randomBytes)
        let tables = try KeyTables(keys: [KeyTables.Key(id: wrap.key, state: .active)], wraps: [wrap])
        return try ServerHeader(database, context, tables, active: key, index: .random(randomBytes), randomBytes)
    }

    private init(
        _ database: [UInt8], _ context: StoreContext, _ keys: KeyTables, active: SymmetricKey, index: SymmetricKey,
        _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) {
        (self.database, self.context, self.keys) = (database, context, keys)
        let salt = ServerRowCodec.salt(context, database)
        var plain = index.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        let nonce = randomBytes(XAES256GCM.nonceLength)
        let cipher = try XAES256GCM(key: ServerRowCodec.derived(from: active, salt, "index wrap"))
        self.index = nonce + (try cipher.seal(plain, nonce: nonce, authenticating: salt))
        tag = Self.tag(keys, self.index, salt, active)
    }

    /// Unwraps the keys of the store.
    /// - Parameters:
    ///   - holder: The key that unwraps the data keys.
    ///   - place: The context that the store must belong to.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` if no data key is wrapped for the holder; `corrupted` if the
    ///   header was changed; `wrongContext`.
    package func open(_ holder: KeyHolder, in place: StoreContext) throws(BackendError) -> ServerKeys {
        guard place == context else {
            throw place.isNot(context, "The store on the server", "Use the application id and the database name of that store.")
        }
        let unwrapped = try holder.open(keys, database: database)
        guard let entry = keys.keys.first(where: { $0.state == .active }), let active = unwrapped[entry.id] else { throw Self.damage }
        let salt = ServerRowCodec.salt(context, database)
        let (wanted, nonce) = (Self.fields(keys, index, salt), Array(index.prefix(XAES256GCM.nonceLength)))
        guard HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: wanted, using: Self.integrity(active, salt)),
            index.count == XAES256GCM.nonceLength + SealingKey.keyLength + XAES256GCM.tagLength
        else { throw Self.damage }
        let cipher = try XAES256GCM(key: ServerRowCodec.derived(from: active, salt, "index wrap"))
        var plain: [UInt8]
        do throws(BackendError) {
            plain = try cipher.open(Array(index.dropFirst(nonce.count)), nonce: nonce, authenticating: salt)
        } catch { throw Self.damage }
        defer { wipe(&plain) }
        return ServerKeys(header: self, unwrapped: unwrapped, active: active, index: SymmetricKey(data: plain))
    }

    fileprivate func with(
        _ keys: KeyTables, _ active: SymmetricKey, _ index: SymmetricKey, _ randomBytes: (Int) -> [UInt8]
    )
        throws(BackendError) -> ServerHeader
    {
        try ServerHeader(database, context, keys, active: active, index: index, randomBytes)
    }

    private static func integrity(_ active: SymmetricKey, _ salt: [UInt8]) -> SymmetricKey {
        ServerRowCodec.derived(from: active, salt, "integrity")
    }

    private static func fields(_ keys: KeyTables, _ index: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        var fields = Fields("LocalData server 1 header")
        let tables = keys.fields
        for part in [salt, tables.keys.bytes, tables.wraps.bytes, keys.sender ?? [], index] { fields.add(part) }
        return fields.bytes
    }

    private static func tag(_ keys: KeyTables, _ index: [UInt8], _ salt: [UInt8], _ active: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: fields(keys, index, salt), using: integrity(active, salt)))
    }

    /// The error for a header that was damaged or changed.
    package static var damage: BackendError {
        BackendError(
            .corrupted,
            "The keys of the store on the server were damaged, or changed by another program. Restore the tables from a backup; nothing was changed."
        )
    }
}

/// The unwrapped keys of a sealed store on a database server.
package struct ServerKeys: Sendable {
    /// The header that the keys belong to.
    package let header: ServerHeader
    private let unwrapped: [[UInt8]: SymmetricKey]
    private let active: SymmetricKey
    private let index: SymmetricKey

    fileprivate init(header: ServerHeader, unwrapped: [[UInt8]: SymmetricKey], active: SymmetricKey, index: SymmetricKey) {
        (self.header, self.unwrapped, self.active, self.index) = (header, unwrapped, active, index)
    }

    /// Derives the keys of the rows.
    package func codec() throws(BackendError) -> ServerRowCodec {
        let older = header.keys.keys.filter { $0.state == .decryptOnly }.compactMap { unwrapped[$0.id] }
        return try ServerRowCodec(header.context, database: header.database, active: active, decryptOnly: older, index: index)
    }

    /// Returns the header with other recipients.
    package func changing(_ change: KeyTables.Change, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerHeader {
        let tables = try header.keys.changed(change, unwrapped, database: header.database, randomBytes)
        return try header.with(tables, active, index, randomBytes)
    }

    /// Returns the header with a new active data key. The former active key becomes decrypt-only.
    /// - Parameter sources: The keys of all recipients that are not recovery keys.
    package func activatingNewKey(for sources: [SealingKey], _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerHeader {
        let tables = try header.keys.activatingNewKey(for: sources, unwrapped, database: header.database, randomBytes)
        guard let source = sources.first else { throw ServerHeader.damage }
        let opened = try KeyHolder.key(source).open(tables, database: header.database)
        guard let entry = tables.keys.first(where: { $0.state == .active }), let key = opened[entry.id] else { throw ServerHeader.damage }
        return try header.with(tables, key, index, randomBytes)
    }

    /// Returns the header without the decrypt-only keys.
    package func droppingOlderKeys(_ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerHeader {
        let ids = Set(header.keys.keys.filter { $0.state == .active }.map(\.id))
        let tables = try KeyTables(
            keys: header.keys.keys.filter { ids.contains($0.id) }, wraps: header.keys.wraps.filter { ids.contains($0.key) },
            sender: header.keys.sender)
        return try header.with(tables, active, index, randomBytes)
    }
}
