/// What the protocol insists on, one by one. A router has them all; the simulation takes one away at a time, to show that it would be missed.
package struct Safeguards: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// What changes a slot in one process waits in one line.
    package static let lanes = Safeguards(rawValue: 1 << 0)
    /// A value is written to its place before its older copies go.
    package static let destinationFirst = Safeguards(rawValue: 1 << 1)
    /// An older copy goes only once its successor is certain to last.
    package static let durabilityBarrier = Safeguards(rawValue: 1 << 2)
    /// Who has found nothing anywhere looks again, in the direction in which values travel.
    package static let secondLook = Safeguards(rawValue: 1 << 3)
    /// A copy that another registered key still needs stays.
    package static let sharedSources = Safeguards(rawValue: 1 << 4)
    /// No value goes to a place that protects it less, or keeps it shorter.
    package static let protection = Safeguards(rawValue: 1 << 5)
    /// A new record names the older copies that the one before it named.
    package static let carriedOrigin = Safeguards(rawValue: 1 << 6)

    /// Every one of them.
    package static let all: Safeguards = [
        .lanes, .destinationFirst, .durabilityBarrier, .secondLook, .sharedSources, .protection, .carriedOrigin,
    ]
}
