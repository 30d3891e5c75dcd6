public import Foundation

/// What can be done with a record that cannot be read. ``records(in:_:)`` and ``names(in:collection:)`` tell which there are.
extension StorageRouter {
    /// The bytes of a damaged record as they are stored: those of its serializer, or whatever is in its place. A row of an encrypted database that does not open is given
    /// as it is stored; `Docs/Design.md` has the format.
    /// - Throws: ``StorageError``: `notFound` when it was changed since it was listed, or is gone.
    @concurrent
    public nonisolated func damagedData(_ record: DamagedRecord) async throws -> Data { try await Salvage(env).data(of: record) }

    /// Puts a damaged record into the quarantine, and then removes it from its place; durable when it returns. ``audit()`` lists it there.
    ///
    /// Backups of its earlier versions stay. So do older copies in legacy locations: they count again, as when the record had been damaged there.
    /// - Throws: ``StorageError``: `notFound` when it was changed since it was listed, or is gone; nothing was changed then.
    @concurrent
    public nonisolated func setAside(_ record: DamagedRecord) async throws { try await Salvage(env).setAside(record) }

    /// Removes a damaged record from its place, and keeps nothing of it; durable when it returns. For a person who has decided that it is not needed.
    ///
    /// Backups of its earlier versions and older copies in legacy locations stay.
    /// - Throws: As ``setAside(_:)``.
    @concurrent
    public nonisolated func removeDamaged(_ record: DamagedRecord) async throws { try await Salvage(env).remove(record) }
}

/// Values that are gone without having been removed: ``StorageKey/witnessed()``.
extension StorageRouter {
    /// Accepts that a value has vanished: from now on the key is absent, its default is returned, and an older copy may take its place. Durable when
    /// it returns. A value that is there is not touched.
    /// - Parameter key: A key with a witness; nothing happens for another one.
    /// - Throws: ``StorageError`` when the list of witnesses cannot be written.
    @concurrent
    public nonisolated func acknowledgeLoss<Value>(of key: StorageKey<Value>) async throws {
        let route = try entry(key).route
        guard let witnesses = route.witnesses else { return }
        try await env.withLane(route) { try await witnesses.acknowledge(at: route) }
    }
}
