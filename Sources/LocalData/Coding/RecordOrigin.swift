package import BackendContract
import Crypto
import Foundation
import Sealing

/// Where a value came from, stored with it: which older copies are this value, and may be removed.
///
/// A fingerprint tells something of a value, so it is only recorded where the destination protects at least as well as the source did, and it is
/// sealed with the value where the value is sealed.
package struct RecordOrigin: Codable, Sendable, Equatable {
    /// The fingerprints of the older copies, by the names of their places.
    package var copies: [String: String] = [:]
    /// The fingerprints of what the same places held before, the latest first; nil for none.
    private var earlier: [String: [String]]?
    /// The migration that brought the value; nil after a `set`.
    var migration: String?
    /// The start of the machine in which it was written.
    var boot: String?

    init(copies: [String: String] = [:], migration: String? = nil, boot: String? = nil) {
        self.copies = copies
        self.migration = migration
        self.boot = boot
    }

    /// How many fingerprints of what a place held before are kept.
    private static let memory = 8

    /// Whether an older copy is one that this value replaced.
    func names(_ place: String, _ record: StorageRecord) -> Bool { names(place, Self.fingerprint(of: record)) }

    private func names(_ place: String, _ fingerprint: String) -> Bool {
        copies[place] == fingerprint || earlier?[place]?.contains(fingerprint) == true
    }

    /// Whether everything that another record was made of is named here.
    func namesAll(of other: RecordOrigin) -> Bool { !other.copies.isEmpty && other.copies.allSatisfy { names($0.key, $0.value) } }

    /// The first half of the SHA-256 of the payload's canonical bytes, in hexadecimal.
    package static func fingerprint(of record: StorageRecord) -> String {
        hexadecimalText(of: SHA256.hash(data: record.payload.canonicalBytes).prefix(16))
    }

    /// Adds a copy, if the destination may know its fingerprint.
    mutating func add(_ copy: SourceRecord, destination: Route) {
        guard destination.protection >= copy.route.protection else { return }
        let place = copy.route.placeName
        let before = copies.updateValue(Self.fingerprint(of: copy.record), forKey: place)
        if let before { remember([before], of: place, isLatest: true) }
    }

    /// Adds what another record names. Of one place, what is named here counts as the latest.
    mutating func merge(_ other: RecordOrigin?) {
        guard let other else { return }
        for (place, fingerprint) in other.copies.sorted(by: { $0.key < $1.key }) {
            if copies[place] == nil { copies[place] = fingerprint } else { remember([fingerprint], of: place) }
        }
        for (place, fingerprints) in other.earlier ?? [:] { remember(fingerprints, of: place) }
    }

    /// - Parameter isLatest: Whether it is later than what is remembered already, and the last to be forgotten.
    private mutating func remember(_ added: [String], of place: String, isLatest: Bool = false) {
        let past = earlier?[place] ?? []
        var known: [String] = []
        for fingerprint in isLatest ? added + past : past + added {
            if copies[place] != fingerprint, !known.contains(fingerprint) { known.append(fingerprint) }
        }
        if known.isEmpty { return }
        earlier = (earlier ?? [:]).merging([place: Array(known.prefix(Self.memory))]) { $1 }
    }
}
