package import BackendContract
internal import BackendRuntime
internal import Crypto

/// The header of a sealed store on a database server: its id, its context, and its wrapped keys. It is not encrypted.
/// A tag authenticates it.
///
/// Each change of the header increases its counter, so that a machine that has seen a header can refuse an earlier one.
/// The tag is computed with the active data key, which the holder of a removed recovery key may know. So a header with a
/// counter also has a proof, which only a holder of the source's key can make.
package struct ServerHeader: Hashable, Sendable {
    /// The id of the store: 16 random bytes.
    package let database: [UInt8]
    /// The application, kind and scope that the store belongs to.
    package let context: StoreContext
    /// The data keys, wrapped for each recipient. A recipient is a key that can unwrap them.
    package let keys: KeyTables
    /// The index key, sealed with the active data key. The rotation of the data key does not replace it.
    package let index: [UInt8]
    /// The number of changes since the store was created, which counts as 1. It is 0 in a header of tables before version
    /// 3, which have no counter.
    package let counter: Int64
    /// The tag of the other parts, computed with the active data key.
    package let tag: [UInt8]
    /// A tag of ``tag``, computed with the key of the source; empty if the counter is 0.
    package let proof: [UInt8]

    /// Creates a header from its stored parts.
    package init(
        database: [UInt8], context: StoreContext, keys: KeyTables, index: [UInt8], counter: Int64, tag: [UInt8], proof: [UInt8]
    ) {
        (self.database, self.context, self.keys, self.index) = (database, context, keys, index)
        (self.counter, self.tag, self.proof) = (counter, tag, proof)
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
        let salt = ServerRowCodec.salt(context, database)
        return try ServerHeader(
            database, context, tables, counter: 1, active: key, index: .random(randomBytes), prover: HeaderProver(kek, salt), randomBytes)
    }

    fileprivate init(
        _ database: [UInt8], _ context: StoreContext, _ keys: KeyTables, counter: Int64, active: SymmetricKey, index: SymmetricKey,
        prover: HeaderProver, _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) {
        let salt = ServerRowCodec.salt(context, database)
        var plain = index.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        let nonce = randomBytes(XAES256GCM.nonceLength)
        let cipher = try XAES256GCM(key: ServerRowCodec.derived(from: active, salt, "index wrap"))
        let sealed = nonce + (try cipher.seal(plain, nonce: nonce, authenticating: salt))
        let fields = Self.fields(keys, sealed, counter, salt)
        let tag = Array(HMAC<SHA256>.authenticationCode(for: fields, using: Self.integrity(active, salt)))
        self.init(
            database: database, context: context, keys: keys, index: sealed, counter: counter, tag: tag, proof: prover.proof(of: tag))
    }

    /// The id of the store, the counter and the tag. A machine notes it to recognize an earlier header.
    package var mark: FreshnessMark { FreshnessMark(database: database, commits: counter, digest: tag) }

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
        let (wanted, nonce) = (Self.fields(keys, index, counter, salt), Array(index.prefix(XAES256GCM.nonceLength)))
        guard counter >= 0, HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: wanted, using: Self.integrity(active, salt)),
            index.count == XAES256GCM.nonceLength + SealingKey.keyLength + XAES256GCM.tagLength
        else { throw Self.damage }
        var prover: HeaderProver?
        if case .key(let kek) = holder {
            let own = HeaderProver(kek, salt)
            guard counter == 0 || own.isProof(proof, of: tag) else { throw Self.damage }
            prover = own
        }
        let cipher = try XAES256GCM(key: ServerRowCodec.derived(from: active, salt, "index wrap"))
        var plain: [UInt8]
        do throws(BackendError) {
            plain = try cipher.open(Array(index.dropFirst(nonce.count)), nonce: nonce, authenticating: salt)
        } catch { throw Self.damage }
        defer { wipe(&plain) }
        return ServerKeys(header: self, unwrapped: unwrapped, active: active, index: SymmetricKey(data: plain), prover: prover)
    }

    private static func integrity(_ active: SymmetricKey, _ salt: [UInt8]) -> SymmetricKey {
        ServerRowCodec.derived(from: active, salt, "integrity")
    }

    private static func fields(_ keys: KeyTables, _ index: [UInt8], _ counter: Int64, _ salt: [UInt8]) -> [UInt8] {
        var fields = Fields(counter == 0 ? "LocalData server 1 header" : "LocalData server 2 header")
        let tables = keys.fields
        for part in [salt, tables.keys.bytes, tables.wraps.bytes, keys.sender ?? [], index] { fields.add(part) }
        if counter != 0 { fields.add(withUnsafeBytes(of: counter.bigEndian) { Array($0) }) }
        return fields.bytes
    }

    /// The error for a header that was damaged or changed.
    package static var damage: BackendError {
        BackendError(
            .corrupted,
            "The keys of the store on the server were damaged, or changed by another program. Restore the tables from a backup; nothing was changed."
        )
    }
}

/// Makes and checks the proofs of headers with a key that is derived from the key of a source.
private struct HeaderProver: Sendable {
    let id: [UInt8]
    private let key: SymmetricKey

    init(_ kek: SealingKey, _ salt: [UInt8]) {
        id = kek.id
        key = KeyDerivation.key(from: kek.key, salt: salt, for: Self.purpose.utf8)
    }

    private static let purpose = "LocalData server 2 header proof"

    private func content(_ tag: [UInt8]) -> [UInt8] { Fields(Self.purpose, tag).bytes }

    func proof(of tag: [UInt8]) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: content(tag), using: key)) }

    func isProof(_ proof: [UInt8], of tag: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(proof, authenticating: content(tag), using: key)
    }
}

/// The unwrapped keys of a sealed store on a database server.
package struct ServerKeys: Sendable {
    /// The header that the keys belong to.
    package let header: ServerHeader
    private let unwrapped: [[UInt8]: SymmetricKey]
    private let active: SymmetricKey
    private let index: SymmetricKey
    /// Proves headers with the key that has opened this one; nil if a recovery key has opened it.
    private let prover: HeaderProver?

    fileprivate init(
        header: ServerHeader, unwrapped: [[UInt8]: SymmetricKey], active: SymmetricKey, index: SymmetricKey, prover: HeaderProver?
    ) {
        (self.header, self.unwrapped, self.active, self.index, self.prover) = (header, unwrapped, active, index, prover)
    }

    /// Derives the keys of the rows.
    package func codec() throws(BackendError) -> ServerRowCodec {
        let older = header.keys.keys.filter { $0.state == .decryptOnly }.compactMap { unwrapped[$0.id] }
        return try ServerRowCodec(header.context, database: header.database, active: active, decryptOnly: older, index: index)
    }

    /// Returns the header with other recipients.
    /// - Parameters:
    ///   - change: The change of the recipients.
    ///   - noted: The counter of a header that this machine has noted. The counter of the new header is higher.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    package func changing(
        _ change: KeyTables.Change, above noted: Int64 = 0, _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> ServerHeader {
        let tables = try header.keys.changed(change, unwrapped, database: header.database, randomBytes)
        let sources: [SealingKey]
        switch change {
        case .addingRecovery, .removingRecovery: sources = []
        case .replacingSources(let key, _), .rotating(let key, _, _): sources = [key]
        }
        return try renewed(tables, active, sources: sources, above: noted, randomBytes)
    }

    /// Returns the header with a new active data key. The former active key becomes decrypt-only.
    /// - Parameter sources: The keys of all recipients that are not recovery keys.
    package func activatingNewKey(for sources: [SealingKey], _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerHeader {
        let tables = try header.keys.activatingNewKey(for: sources, unwrapped, database: header.database, randomBytes)
        guard let source = sources.first else { throw ServerHeader.damage }
        let opened = try KeyHolder.key(source).open(tables, database: header.database)
        guard let entry = tables.keys.first(where: { $0.state == .active }), let key = opened[entry.id] else { throw ServerHeader.damage }
        return try renewed(tables, key, sources: sources, randomBytes)
    }

    /// Returns the header without the decrypt-only keys.
    package func droppingOlderKeys(_ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerHeader {
        let ids = Set(header.keys.keys.filter { $0.state == .active }.map(\.id))
        let tables = try KeyTables(
            keys: header.keys.keys.filter { ids.contains($0.id) }, wraps: header.keys.wraps.filter { ids.contains($0.key) },
            sender: header.keys.sender)
        return try renewed(tables, active, randomBytes)
    }

    /// Returns the header with the same keys and a counter that is higher than one that this machine has noted.
    package func renewed(above noted: Int64, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> ServerHeader {
        try renewed(header.keys, active, above: noted, randomBytes)
    }

    private func renewed(
        _ tables: KeyTables, _ active: SymmetricKey, sources: [SealingKey] = [], above noted: Int64 = 0, _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> ServerHeader {
        let salt = ServerRowCodec.salt(header.context, header.database)
        let provers = sources.map { HeaderProver($0, salt) } + (prover.map { [$0] } ?? [])
        let recipients = tables.recipients.filter { $0.source != RecoveryRecipient.source }
        // A store on a server has one source, so that each machine can check the proof.
        guard recipients.count == 1, let prover = provers.first(where: { $0.id == recipients[0].id }) else { throw ServerHeader.damage }
        return try ServerHeader(
            header.database, header.context, tables, counter: max(header.counter, noted) + 1, active: active, index: index, prover: prover,
            randomBytes)
    }
}
