/// What the protocol insists on, one by one. A router has them all; the simulation takes one away at a time, to show that it would be missed.
package struct Safeguards: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Changes of a slot in one process wait in one line.
    package static let lanes = Safeguards(rawValue: 1 << 0)
    /// A value is written to its place before its older copies go.
    package static let destinationFirst = Safeguards(rawValue: 1 << 1)
    /// An older copy goes only once its successor is certain to last.
    package static let durabilityBarrier = Safeguards(rawValue: 1 << 2)
    /// After a miss everywhere, the sources are read again, in the direction in which values move.
    package static let secondLook = Safeguards(rawValue: 1 << 3)
    /// A copy that another registered key still needs stays.
    package static let sharedSources = Safeguards(rawValue: 1 << 4)
    /// No value goes to a place that protects it less, or keeps it shorter.
    package static let protection = Safeguards(rawValue: 1 << 5)
    /// A new record names the older copies that the one before it named.
    package static let carriedOrigin = Safeguards(rawValue: 1 << 6)
    /// A new shape is written only over the record that it was made of.
    package static let convertedUnchanged = Safeguards(rawValue: 1 << 7)
    /// The mark of a list that was taken apart is written with its records.
    package static let markWithRecords = Safeguards(rawValue: 1 << 8)
    /// The bytes of an earlier version are kept before they are replaced.
    package static let backups = Safeguards(rawValue: 1 << 9)
    /// A value that moves keeps the time that is left to it.
    package static let carriedExpiry = Safeguards(rawValue: 1 << 10)
    /// An expired value is absent, whatever legacy locations hold.
    package static let expiryDecides = Safeguards(rawValue: 1 << 11)
    /// Every record is tried before the first one is migrated.
    package static let validation = Safeguards(rawValue: 1 << 12)
    /// An earlier version does not read what a later one wrote.
    package static let laterVersions = Safeguards(rawValue: 1 << 13)
    /// Records that a made value refers to are stored before it.
    package static let referredRecords = Safeguards(rawValue: 1 << 14)
    /// A copy is known by its revision, and another program's value by its content only until its absence is recorded.
    package static let copiesByRevision = Safeguards(rawValue: 1 << 15)
    /// A sweep passes over a key only if its older places are empty.
    package static let olderPlacesRead = Safeguards(rawValue: 1 << 26)

    /// An expired value is purged only a day after it was first found expired.
    package static let purgeDelay = Safeguards(rawValue: 1 << 24)
    /// A record is moved only if no tombstone was dropped since its source was read.
    package static let removalEpoch = Safeguards(rawValue: 1 << 20)

    /// In a release window, an older place is written only as it was seen.
    package static let mirrorRevision = Safeguards(rawValue: 1 << 16)
    /// In a release window, no sweep empties an older place.
    package static let mirrorsKept = Safeguards(rawValue: 1 << 17)
    /// In a release window, a read looks for what an earlier release wrote.
    package static let olderWriteSeen = Safeguards(rawValue: 1 << 18)
    /// A value is written in an older shape only if that tells everything, or its newer shape is kept beside it.
    package static let olderShapeChecked = Safeguards(rawValue: 1 << 19)
    /// In a release window, a value is written in the shape that the oldest program of the window reads.
    package static let olderShapeWritten = Safeguards(rawValue: 1 << 22)
    /// A value names the last removal before it, where newer shapes may be left beside its slot.
    package static let removalNamed = Safeguards(rawValue: 1 << 23)

    /// Nothing that stands beside a seal is believed before it was opened.
    package static let sealsProven = Safeguards(rawValue: 1 << 25)

    /// A value is sealed with another key only over the record that was opened.
    package static let resealedUnchanged = Safeguards(rawValue: 1 << 21)

    /// Every one of them.
    package static let all: Safeguards = [
        .lanes, .destinationFirst, .durabilityBarrier, .secondLook, .sharedSources, .protection, .carriedOrigin, .convertedUnchanged,
        .markWithRecords, .backups, .carriedExpiry, .expiryDecides, .validation, .laterVersions,
        .referredRecords, .copiesByRevision, .olderPlacesRead, .purgeDelay, .removalEpoch, .mirrorRevision,
        .mirrorsKept, .olderWriteSeen, .olderShapeChecked, .olderShapeWritten, .removalNamed, .sealsProven, .resealedUnchanged,
    ]
}
