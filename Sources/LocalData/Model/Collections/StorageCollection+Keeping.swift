extension StorageCollection {
    /// This collection, taking its records from an older one, which is kept up to date for programs of an earlier release: see
    /// ``StorageKey/moved(from:keeping:id:options:)``. Each record has its place in both collections, and the window of all of them ends at once.
    ///
    /// While the window is open, a read of all records first looks at each of them in both places.
    /// - Parameters:
    ///   - source: The older collection, in another place or under another name. It protects its records as well as this one does, unless the options say
    ///     ``MigrationOptions/keepsWeakerCopy``.
    ///   - window: How long it is kept up to date.
    ///   - options: What the migration may do beyond the safe default.
    public func moved(
        from source: StorageCollection<Record>, keeping window: ReleaseWindow, options: MigrationOptions = MigrationOptions()
    ) -> Self {
        taking(
            CollectionSource(
                source: source, options: options, transform: { $0 },
                kept: MirroredSource(window: window, down: { $0 }, changesShape: false, merge: nil)))
    }

    /// This collection, taking its records from an older one of another type, which is kept up to date for programs of an earlier release: see
    /// ``moved(from:keeping:options:)``. Ids stay.
    ///
    /// A record of the older type has to tell everything that one of the newer does, or `merge` has to be given: without it, a record for which `transform(down(record))` is
    /// another record is refused with `encodingFailed`, and nothing is changed.
    /// - Parameters:
    ///   - source: The older collection.
    ///   - window: How long it is kept up to date.
    ///   - options: What the migration may do beyond the safe default.
    ///   - transform: Makes the new record. It may run again after a crash, so it must not invent identities.
    ///   - down: Makes the older record that an earlier release reads.
    ///   - merge: Makes one record of what an earlier release wrote, in the newer type, and of the newer record that it wrote over.
    public func moved<Source>(
        from source: StorageCollection<Source>, keeping window: ReleaseWindow, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Record, down: @escaping @Sendable (Record) throws -> Source,
        merge: (@Sendable (_ older: Record, _ newer: Record) throws -> Record)? = nil
    ) -> Self {
        taking(
            CollectionSource(
                source: source, options: options, transform: transform,
                kept: MirroredSource(window: window, down: { try down($0) }, changesShape: true, merge: merge)))
    }
}
