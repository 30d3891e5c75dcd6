import BackendContract

/// The relation of the legacy location in a release window to the record of the destination: a row of the table in
/// "Release windows" in `Docs/Design.md`.
enum MirrorStanding: Sendable {
    /// The mirror of the record (row 4).
    /// - Parameter isMarked: Whether the mark proves this mirror, too. Otherwise, a sweep writes the mark again.
    case mirrored(isMarked: Bool)
    /// The mirror of another record, or a state that the record's writer had already read (rows 5 and 6).
    case outdated
    /// Content that the record's writer had already read. Another program may have written it again since (row 6).
    case doubtful(SourceRecord)
    /// A value that an earlier release wrote over the mirror of the record, or over the value from which the record was
    /// made (row 7).
    case changed(SourceRecord)
    /// No value, because an earlier release removed the mirror of the record, or the value from which the record was made
    /// (row 8).
    case removed
    /// A value of an earlier release that may not have read the record; nil if it removed the value (row 9).
    case conflict(SourceRecord?)
    /// Bytes that are not a record. They never count as a change by an earlier release (row 13).
    case damaged(StorageCorruption)

    var isMirrored: Bool { if case .mirrored = self { true } else { false } }
}

extension MirroredLocations {
    /// Returns the relation of a legacy location to a record of the destination. The contents of the location were read
    /// before; this function reads no slot.
    func standing(of contents: MirrorContents, to record: MirroredRecord, at place: MirroredLocation) async -> MirrorStanding {
        if case .corrupt(let corruption) = contents.older { return .damaged(corruption) }
        let isMarked = contents.mark.map(record.isNamed(by:)) ?? false
        let isCertain = isMarked && (contents.mark?.boot == nil || contents.mark?.boot == slots.bootName)
        if let mirror = contents.mirror {
            return record.isNamed(by: mirror) ? .mirrored(isMarked: isCertain) : .outdated
        }
        // A removal that kept the origin of the mirror names the record, so it needs no mark.
        if let removed = contents.removedMirror, record.isNamed(by: removed) { return .removed }
        let isMade = record.origin?.isMade(ofPlace: place.name) == true
        guard let older = contents.record else {
            if !place.marksInPlace, isMarked, contents.mark?.content == nil { return .mirrored(isMarked: true) }
            if record.isRemoved { return .outdated }
            // Without this proof, the location may be empty because a power loss undid a write.
            if isCertain || isMade { return .removed }
            // The location had a value when the record was written, and the record does not name the empty state. So the location
            // was emptied since.
            let wasEmptied = record.origin?.isKept(place.name) == true && record.origin?.isAbsent(place.name) == false
            return wasEmptied ? .conflict(nil) : .outdated
        }
        let source = SourceRecord(key: AnyStorageKey(base: place.source.key), route: place.route, record: older)
        // A value that a policy merged is made from the legacy value, but the earlier release has not seen it: its next write is a conflict.
        let isFolded = isMade && (record.isRemoved || record.origin?.migration != nil)
        if !place.marksInPlace, let mark = contents.mark, mark.content == RecordOrigin.fingerprint(of: older) {
            // A store of bare values has no metadata for the name of the mirrored record. The mark identifies the mirror by its content.
            return isMarked ? .mirrored(isMarked: true) : .doubtful(source)
        }
        switch await origins.match(source, record.origin) {
        case .exact: return .outdated
        // The mark proves that the mirror replaced the copy with this content. So the content was written again after the mirror.
        case .content where isMarked: return .changed(source)
        // The record was made from the latest content that it names. Earlier content was written again since then.
        case .content where isFolded: return record.origin?.isLatest(older, at: place.name) == true ? .outdated : .changed(source)
        case .content: return .doubtful(source)
        // Reason: "Without proof, a difference is a conflict" in Docs/Decisions/ReleaseWindows.md.
        case .none: return isMarked || isFolded ? .changed(source) : .conflict(source)
        }
    }
}
