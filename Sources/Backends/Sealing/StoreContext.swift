package import BackendContract

/// The identity of a store: application, kind and scope. Sealed data is bound to it.
///
/// A database or a single value that was sealed for one store therefore does not open in another one, even with the
/// same key.
package struct StoreContext: Hashable, Sendable, CustomStringConvertible {
    /// The name of the application, of the tenant, or of the group of programs that share the store.
    package let application: String
    /// The kind of store: "sqlite", "vault", "userDefaults", "keychain".
    package let kind: String
    /// The name of the database, suite or service; empty if the kind of store has none.
    package let scope: String

    /// Creates a context.
    package init(application: String, kind: String, scope: String) {
        (self.application, self.kind, self.scope) = (application, kind, scope)
    }

    private static let purpose = "LocalData store context 1"

    /// The context, encoded as ``Fields``. ``init(bytes:)`` decodes it.
    package var bytes: [UInt8] {
        var fields = Fields(Self.purpose)
        for part in [application, kind, scope] { fields.add(part) }
        return fields.bytes
    }

    /// Decodes ``bytes``.
    /// - Throws: ``RecordDamage`` if the bytes are not an encoded context.
    package init(bytes: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(bytes[...])
        guard try reader.text() == Self.purpose else { throw RecordDamage("is not the context of a store") }
        self.init(application: try reader.text(), kind: try reader.text(), scope: try reader.text())
        guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
    }

    /// Returns the contexts that appear in bytes, such as those of a damaged file.
    package static func traces(in bytes: [UInt8]) -> Set<StoreContext> {
        let mark = Fields(purpose).bytes
        guard let last = mark.last, bytes.count >= mark.count else { return [] }
        var found: Set<StoreContext> = []
        // Few bytes of a file are the last byte of the mark, so only these are compared with the whole mark.
        for end in bytes.indices.dropFirst(mark.count - 1) where bytes[end] == last {
            guard bytes[(end + 1 - mark.count)...end].elementsEqual(mark) else { continue }
            var reader = ByteReader(bytes[(end + 1)...])
            guard let application = try? reader.text(), let kind = try? reader.text(), let scope = try? reader.text() else { continue }
            found.insert(StoreContext(application: application, kind: kind, scope: scope))
        }
        return found
    }

    /// The context as text for messages, for example `sqlite "bank" of "com.example.app"`.
    package var description: String { "\(kind) \"\(scope)\" of \"\(application)\"" }

    /// Creates the error for a store that belongs to another context.
    /// - Parameters:
    ///   - found: The context that the store belongs to.
    ///   - what: The subject of the error message, for example "The database".
    ///   - remedy: The advice to the user, as a whole sentence.
    package func isNot(_ found: StoreContext, _ what: String, _ remedy: String) -> BackendError {
        BackendError(
            .wrongContext, "\(what) belongs to \(found), but this program opens it as \(self). \(remedy) Nothing was changed.")
    }
}

extension Fields {
    /// Appends the application, kind and scope of a store as fields.
    package mutating func add(_ context: StoreContext) {
        for part in [context.application, context.kind, context.scope] { add(part) }
    }
}

extension BackendError.Code {
    /// The stored data belongs to another application, kind of store or scope.
    package static let wrongContext = BackendError.Code("wrongContext")
}

/// A store that is bound to its context, and that can be moved to another context on request.
package protocol MovableStore: Sendable {
    /// Binds the data at this store's location to this store's context. The change is durable when the call returns. A
    /// store that already has this context is not changed.
    /// - Parameter original: The context that the store belongs to now.
    /// - Throws: ``BackendError`` with `wrongContext` if the store belongs to neither context. Then nothing was
    ///   changed.
    func adopt(from original: StoreContext) async throws(BackendError)
}
