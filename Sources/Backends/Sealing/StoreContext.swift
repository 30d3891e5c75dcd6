package import BackendContract

/// The store that something sealed belongs to: what a header and an envelope are bound to, so that a store does not open in the place of
/// another one that has the same key.
package struct StoreContext: Hashable, Sendable, CustomStringConvertible {
    /// The application, the tenant, or the family of programs that shares a store.
    package let application: String
    /// The kind of store: "sqlite", "vault", "userDefaults", "keychain".
    package let kind: String
    /// The database, suite or service; empty where the kind has none.
    package let scope: String

    /// Creates a context.
    package init(application: String, kind: String, scope: String) {
        (self.application, self.kind, self.scope) = (application, kind, scope)
    }

    private static let purpose = "LocalData store context 1"

    /// The context as counted fields, which ``init(bytes:)`` reads.
    package var bytes: [UInt8] {
        var fields = Fields(Self.purpose)
        for part in [application, kind, scope] { fields.add(part) }
        return fields.bytes
    }

    /// Reads ``bytes``.
    /// - Throws: ``RecordDamage`` for anything else.
    package init(bytes: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(bytes[...])
        guard try reader.text() == Self.purpose else { throw RecordDamage("is not the context of a store") }
        self.init(application: try reader.text(), kind: try reader.text(), scope: try reader.text())
        guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
    }

    /// The context in words: `sqlite "bank" of "com.example.app"`.
    package var description: String { "\(kind) \"\(scope)\" of \"\(application)\"" }

    /// The error of a store that belongs somewhere else.
    /// - Parameters:
    ///   - what: What was found, as the beginning of a sentence: "The database".
    ///   - found: Its context.
    ///   - remedy: What to do, as a sentence.
    package func isNot(_ found: StoreContext, _ what: String, _ remedy: String) -> BackendError {
        BackendError(
            .wrongContext, "\(what) belongs to \(found); this program has it in the place of \(self). \(remedy) Nothing was changed.")
    }
}

extension Fields {
    /// Appends the application, kind and scope of a store as fields.
    package mutating func add(_ context: StoreContext) {
        for part in [context.application, context.kind, context.scope] { add(part) }
    }
}

extension BackendError.Code {
    /// What is stored belongs to another application, kind of store or scope.
    package static let wrongContext = BackendError.Code("wrongContext")
}

/// A store that is bound to its place, and can be moved to another one on purpose.
package protocol MovableStore: Sendable {
    /// Makes what lies in this store's place, and belongs elsewhere, this store's; durable when it returns.
    /// - Parameter original: Where it belongs.
    /// - Throws: ``BackendError``: `wrongContext` when it belongs to neither; nothing was changed then.
    func adopt(from original: StoreContext) async throws(BackendError)
}
