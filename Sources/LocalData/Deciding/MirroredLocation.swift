import BackendContract

/// The legacy location that a release window keeps up to date. "Release windows" in `Docs/Design.md` has the table of
/// states and the order of writes.
struct MirroredLocation: Sendable {
    /// The slot of the key.
    let destination: Route
    /// The slot of the legacy location, and the key with which an earlier release reads it.
    let source: UntypedSlot
    /// The slot of the mark, which names the record whose mirror was written last. An earlier release does not use this slot.
    let mark: Route
    /// The id of the migration whose source is the legacy location.
    let migration: String
    /// The declared window; nil if the program no longer declares one.
    let window: ReleaseWindow?
    let options: MigrationOptions
    /// The slot of the legacy collection's mark; nil if the legacy location does not belong to a record.
    let collection: Route?
    /// Whether this program keeps the legacy location up to date. If not, the window is over, and the next sweep empties the location.
    var isOpen: Bool

    var route: Route { source.route }
    /// The name of the legacy location in origins.
    var name: String { route.place.text }
    /// Whether the mark and the legacy location are in one store. If the store has atomic batches, one commit can change both.
    var marksInPlace: Bool { mark.slot.store == route.slot.store }
    var commitsTogether: Bool { marksInPlace && route.capabilities.atomicBatch }
    /// The slot of the mark whose removal epoch must be unchanged when a mirror is committed. Nil if tombstones are never dropped.
    var epoch: Route? { commitsTogether ? collection : nil }

    /// Returns whether the window concerns a record of the destination. It does if the window is open, if the record was written during the
    /// window, or if the window must still be ended. It does not if the record says that the window has ended.
    /// - Parameters:
    ///   - origin: The origin of the record; nil if there is none.
    ///   - toEnd: Whether to include a declared window that must still be ended.
    func matters(to origin: RecordOrigin?, toEnd: Bool) -> Bool {
        if origin?.isReleased(name) == true { return false }
        return isOpen || origin?.isInWindow(of: name) == true || toEnd && window != nil
    }

    /// Returns the namespace of the marks for legacy locations in a namespace.
    static func namespace(of namespace: StorageNamespace) -> StorageNamespace { StorageNamespace("window:\(namespace.name)") }

    /// A legacy location and its content before a record is written.
    struct Seen: Sendable {
        let place: MirroredLocation
        /// Nil if the content could not be read. The new record then does not name it. If the mirror cannot be written after the record, a
        /// later sweep writes it.
        let contents: MirrorContents?
    }
}

/// The content of the legacy location and of its mark.
struct MirrorContents: Sendable {
    let older: StorageProbe
    /// The origin of the record or tombstone in the legacy location; nil if there is none, or if it cannot be opened.
    let origin: RecordOrigin?
    let mark: RecordOrigin.Mirror?
    /// A check that fails a commit if the removal epoch of the legacy collection has changed since this content was read.
    var epoch: Committer.Change?

    /// Identifies the record that the mirror in the legacy location copies. Nil if there is no mirror: for example, because an earlier
    /// release wrote the content. If an earlier release removes a mirror, its tombstone may keep the origin of the mirror. So a tombstone
    /// with the origin of a value is not a mirror.
    /// Reason: "A mirror names the record that it copies" in Docs/Decisions/ReleaseWindows.md.
    var mirror: RecordOrigin.Mirror? {
        switch (origin?.mirrors, older) {
        case (let mirror?, .value) where mirror.kind == .value: mirror
        case (let mirror?, .tombstone) where mirror.kind == .removed: mirror
        default: nil
        }
    }

    /// The mirror that an earlier release removed, if the tombstone kept the mirror's origin; otherwise nil.
    var removedMirror: RecordOrigin.Mirror? {
        guard case .tombstone = older, let mirror = origin?.mirrors, mirror.kind == .value else { return nil }
        return mirror
    }

    var record: StorageRecord? { older.record }

    var isDamaged: Bool { if case .corrupt = older { true } else { false } }

    /// Whether the legacy location is empty and has no mark: neither an earlier release nor a window has left anything.
    var isEmpty: Bool { mark == nil && older.revision == nil }
}

/// A settled value or tombstone of the destination, with the properties that release windows use.
struct MirroredRecord: Sendable {
    let revision: StorageRevision
    let origin: RecordOrigin?
    let metadata: StorageMetadata
    /// The content of the value; nil for a tombstone.
    let payload: StoragePayload?
    let isForeign: Bool

    var isRemoved: Bool { payload == nil }

    init(_ record: StorageRecord, _ origin: RecordOrigin?) {
        (revision, self.origin, metadata, payload, isForeign) = (record.revision, origin, record.metadata, record.payload, record.isForeign)
    }

    init(_ tombstone: StorageTombstone, _ origin: RecordOrigin?) {
        (revision, self.origin, metadata, payload, isForeign) = (tombstone.revision, origin, tombstone.metadata, nil, false)
    }

    /// Returns whether a mirror is a copy of this record, or whether a mark names this record.
    /// - Parameter mirror: The identification that the mirror or the mark contains.
    func isNamed(by mirror: RecordOrigin.Mirror) -> Bool {
        (mirror.kind == .removed) == isRemoved && RecordOrigin.isMirror(mirror, of: revision, origin)
    }
}

/// The error of a change that is based on a value which has changed since it was read.
struct ChangedMeanwhile: Error {}
