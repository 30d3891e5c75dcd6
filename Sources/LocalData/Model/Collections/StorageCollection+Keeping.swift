extension StorageCollection {
    /// Returns this collection with an older collection as a legacy location, where earlier releases of the program
    /// keep the records. A release window keeps the older collection up to date for these releases.
    ///
    /// Each record is stored in both collections until the window ends. The window ends for all records at once. While
    /// the window is open, a read of all records first compares both copies of each record. For the details of a window
    /// see ``StorageKey/moved(from:keeping:id:options:)``.
    ///
    /// ```swift
    /// let kept = notes.moved(from: editor.collection("notesOfRelease1"), keeping: .until(version: "3.0"))
    /// ```
    /// - Parameters:
    ///   - source: The older collection, in another store or under another name. It must protect its records as well as
    ///     this collection does, unless the options contain ``MigrationOptions/keepsWeakerCopy``.
    ///   - window: The time during which the older collection is kept up to date.
    ///   - options: The options of the migration. Each default is the safe choice.
    public func moved(
        from source: StorageCollection<Record>, keeping window: ReleaseWindow, options: MigrationOptions = MigrationOptions()
    ) -> Self {
        taking(
            CollectionSource(
                source: source, options: options, transform: { $0 },
                kept: MirroredSource(window: window, down: { $0 }, changesShape: false, merge: nil)))
    }

    /// Returns this collection with an older collection of another record type as a legacy location. A release window
    /// keeps the older collection up to date for programs of an earlier release.
    ///
    /// See ``moved(from:keeping:options:)``. The ids of the records do not change. If the older type cannot represent
    /// every field of the newer one, pass `merge`. Without `merge`, the router refuses a record for which
    /// `transform(down(record))` differs from the record. The error is `encodingFailed`, and nothing is changed.
    ///
    /// ```swift
    /// let both = notes.moved(from: older, keeping: .for(days: 30)) { old in
    ///     Note(id: old.id, title: old.name)
    /// } down: { note in
    ///     NoteV1(id: note.id, name: note.title)
    /// } merge: { older, newer in
    ///     Note(id: older.id, title: older.title, author: newer.author)  // release 1 does not have the author
    /// }
    /// ```
    /// - Parameters:
    ///   - source: The older collection.
    ///   - window: The time during which the older collection is kept up to date.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Converts an older record to a newer one. It may run again after a crash, so it must not generate
    ///     random identifiers.
    ///   - down: Converts a newer record to the older one that an earlier release reads.
    ///   - merge: Combines the record that an earlier release wrote, converted to the newer type, with the newer record
    ///     that it overwrote.
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
