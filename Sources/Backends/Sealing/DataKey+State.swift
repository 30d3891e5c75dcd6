package import BackendContract
import Crypto

/// The terms of rows, and the sealed state of a database. A term is a keyed hash of a row, and the state contains the
/// sum of all terms. Together they prove that the rows are complete and unchanged.
extension DataKey {
    /// Returns the term of a row, 32 bytes. Of the row's sealed bytes, the hash includes only the nonce and the tag,
    /// which identify them. So a large row takes no longer than a small one.
    /// - Parameters:
    ///   - slot: The slot of the row.
    ///   - version: The version of the row.
    ///   - nonce: The nonce of the row's sealed bytes, 24 bytes.
    ///   - tag: The tag of the row's sealed bytes, 16 bytes.
    package func term(
        ofRow slot: UnsafeRawBufferPointer, version: Int64, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
    ) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 row")
        fields.add(slot)
        fields.add(version)
        fields.add(nonce)
        fields.add(tag)
        return presence.code(of: fields)
    }

    /// Seals the state of the database with this key, which must be the active one. Returns nonce, ciphertext and tag.
    package func seal(_ state: CommitState, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> [UInt8] {
        let nonce = randomBytes(XAES256GCM.nonceLength)
        return nonce + (try stating.seal(state.bytes, nonce: nonce, authenticating: stateContext))
    }

    /// Opens the result of ``seal(_:_:)``. Returns nil for any other bytes, such as the state of another database or
    /// key.
    package func openState(_ sealed: [UInt8]) -> CommitState? {
        guard sealed.count == Self.stateLength else { return nil }
        let nonce = Array(sealed.prefix(XAES256GCM.nonceLength))
        let plain = try? stating.open(Array(sealed.dropFirst(nonce.count)), nonce: nonce, authenticating: stateContext)
        return plain.flatMap { CommitState(bytes: $0) }
    }

    /// Returns the mark that a freshness anchor records for a state. An anchor is outside the database's file and
    /// detects an older file. The digest is HMAC-SHA256 of the database's id and the state, under the integrity key.
    package func mark(of state: CommitState) -> FreshnessMark {
        let digest = tag(Fields("LocalData SQLite 1 freshness", database, state.bytes))
        return FreshnessMark(database: database, commits: state.commits, digest: digest)
    }

    /// The number of bytes of a sealed state.
    static let stateLength = XAES256GCM.nonceLength + CommitState.length + XAES256GCM.tagLength

    private var stateContext: [UInt8] { Fields("LocalData SQLite 1 state", database, id).bytes }
}
