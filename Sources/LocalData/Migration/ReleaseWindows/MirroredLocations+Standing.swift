import BackendContract

/// The relation of the legacy location in a release window to the record of the destination: a row of the table in
/// "Release windows" in `Docs/Design.md`.
enum MirrorStanding: Sendable {
    /// It stands for the record (row 4).
    /// - Parameter isMarked: Whether the mark says so too.
    case mirrored(isMarked: Bool)
    /// It stands for an earlier record, or holds what the record's writer knew (rows 5 and 6).
    case outdated
    /// It has the content of what the record's writer knew, and may have been written anew (row 6).
    case doubtful(SourceRecord)
    /// An earlier release has written over what stood for the record (row 7).
    case changed(SourceRecord)
    /// An earlier release has removed what stood for the record (row 8).
    case removed
    /// An earlier release has changed it without having seen the record; nil for a removal (row 9).
    case conflict(SourceRecord?)
    /// Its bytes are not a record: nobody can have meant them.
    case damaged(StorageCorruption)

    var isMirrored: Bool { if case .mirrored = self { true } else { false } }
}

extension MirroredLocations {
    /// What an older place is to a record. Nothing is read.
    func standing(of contents: MirrorContents, to record: MirroredRecord, at place: MirroredLocation) async -> MirrorStanding {
        if case .corrupt(let corruption) = contents.older { return .damaged(corruption) }
        let isMarked = contents.mark.map(record.isNamed(by:)) ?? false
        let isCertain = isMarked && (contents.mark?.boot == nil || contents.mark?.boot == slots.bootName)
        if let mirror = contents.mirror {
            return record.isNamed(by: mirror) ? .mirrored(isMarked: isCertain) : .outdated
        }
        // The removal itself names the record whose mirror it replaced, so it needs no mark.
        if let removed = contents.removedMirror, record.isNamed(by: removed) { return .removed }
        let isMade = record.origin?.isMade(ofPlace: place.name) == true
        guard let older = contents.record else {
            if !place.marksInPlace, isMarked, contents.mark?.content == nil { return .mirrored(isMarked: true) }
            if record.isRemoved { return .outdated }
            // A power cut may have taken what was not certain to survive it.
            if isCertain || isMade { return .removed }
            // Whoever wrote the record saw something here, and did not see it go.
            let wasEmptied = record.origin?.isKept(place.name) == true && record.origin?.isAbsent(place.name) == false
            return wasEmptied ? .conflict(nil) : .outdated
        }
        let source = SourceRecord(key: AnyStorageKey(base: place.source.key), route: place.route, record: older)
        if !place.marksInPlace, let mark = contents.mark, mark.content == RecordOrigin.fingerprint(of: older) {
            // Without metadata, the place cannot say that it stands for an earlier record.
            return isMarked ? .mirrored(isMarked: true) : .doubtful(source)
        }
        switch await Origins(slots, coder, history).match(source, record.origin) {
        case .exact: return .outdated
        // The mark came after what has the same content: it was written anew.
        case .content where isMarked: return .changed(source)
        // Nothing was written here since the record was made of it.
        case .content where isMade: return .outdated
        case .content: return .doubtful(source)
        // Reason: "Without proof, a difference is a conflict" in Docs/Decisions/ReleaseWindows.md.
        case .none: return isMarked || isMade ? .changed(source) : .conflict(source)
        }
    }
}
