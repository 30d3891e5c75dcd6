package import BackendContract
import Crypto

/// What proves that the rows of a database are those that were written: a term for each row, and the sealed state.
extension DataKey {
    /// The 32 bytes that stand for a row in the sum of all rows. Nonce and tag of the sealed bytes say which bytes these are, so a large
    /// row costs as little as a small one.
    /// - Parameters:
    ///   - slot: The row's slot.
    ///   - version: Its version.
    ///   - nonce: The nonce of its sealed bytes, 24 bytes.
    ///   - tag: Their tag, 16 bytes.
    package func term(
        ofRow slot: UnsafeRawBufferPointer, version: Int64, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
    ) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 row")
        fields.add(slot)
        fields.add(version)
        fields.add(nonce)
        fields.add(tag)
        var code = presence
        fields.bytes.withUnsafeBytes { code.update(data: $0) }
        return code.finalize().withUnsafeBytes { Array($0) }
    }

    /// Seals the database's state: nonce, ciphertext, tag. The key is the active one.
    package func seal(_ state: CommitState, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> [UInt8] {
        let nonce = randomBytes(XAES256GCM.nonceLength)
        return nonce + (try stating.seal(state.bytes, nonce: nonce, authenticating: stateContext))
    }

    /// Opens what ``seal(_:_:)`` made; nil for anything else, such as the state of another database or key.
    package func openState(_ sealed: [UInt8]) -> CommitState? {
        guard sealed.count == Self.stateLength else { return nil }
        let nonce = Array(sealed.prefix(XAES256GCM.nonceLength))
        let plain = try? stating.open(Array(sealed.dropFirst(nonce.count)), nonce: nonce, authenticating: stateContext)
        return plain.flatMap { CommitState(bytes: $0) }
    }

    /// What a freshness anchor records of a state: its digest is HMAC-SHA256 under the integrity key, of the database's id and the state.
    package func mark(of state: CommitState) -> FreshnessMark {
        var fields = Fields("LocalData SQLite 1 freshness")
        for part in [database, state.bytes] { fields.add(part) }
        return FreshnessMark(database: database, commits: state.commits, digest: tag(fields))
    }

    /// The number of bytes of a sealed state.
    package static let stateLength = XAES256GCM.nonceLength + CommitState.length + XAES256GCM.tagLength

    private var stateContext: [UInt8] {
        var fields = Fields("LocalData SQLite 1 state")
        for part in [database, id] { fields.add(part) }
        return fields.bytes
    }
}
