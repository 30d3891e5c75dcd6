package import BackendContract
import Crypto
import Foundation
import Sealing

/// Where a value came from, stored with it: which older copies it replaced, and may be removed.
///
/// A copy that the library wrote is known by its revision, which no other write ever has. Another program's value has no such mark: it is known by a fingerprint of its
/// content, which a later write may have again. A fingerprint tells something of a value, so it is only recorded where the destination protects at least as well as the
/// source did, and it is sealed with the value where the value is sealed.
package struct RecordOrigin: Codable, Sendable, Equatable {
    /// The marks of the older copies, by the names of their places.
    package var copies: [String: String] = [:]
    /// The marks of what the same places held before, the latest first; nil for none.
    private var earlier: [String: [String]]?
    /// The places that were empty, durably, when this value was written: what another program writes there since is new, whatever its content.
    private var absent: [String]?
    /// The revisions of this record before it was written again without a change of its value.
    private var rewrites: [String]?
    /// The fingerprints of what other programs wrote and this value was made of; nil after a `set`.
    private var made: [String]?
    /// The migration that brought the value; nil after a `set`.
    var migration: String?
    /// The start of the machine in which it was written.
    var boot: String?

    init(copies: [String: String] = [:], migration: String? = nil, boot: String? = nil) {
        self.copies = copies
        self.migration = migration
        self.boot = boot
    }

    /// How an older record stands to the value that names it.
    enum Standing: Int, Comparable, Sendable {
        /// The value does not know it.
        case unknown
        /// It has the content of another program's value that was replaced, and may have been written anew.
        case matching
        /// It is the very record that was replaced.
        case copy

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// How many marks of what a place held before are kept.
    private static let memory = 8

    // MARK: Marks

    /// What a record is known by: its revision, or the fingerprint of another program's value.
    package static func mark(of record: StorageRecord, byContent: Bool = false) -> String {
        record.isForeign || byContent ? fingerprint(of: record) : mark(of: record.revision)
    }

    private static func mark(of revision: StorageRevision) -> String { "r\(hexadecimalText(of: revision.bytes))" }

    private static func isRevision(_ mark: String) -> Bool { mark.hasPrefix("r") }

    /// The first half of the SHA-256 of the payload's canonical bytes, in hexadecimal.
    package static func fingerprint(of record: StorageRecord) -> String {
        hexadecimalText(of: SHA256.hash(data: record.payload.canonicalBytes).prefix(16))
    }

    // MARK: Older records

    /// How a record that an older place holds stands to this value.
    func standing(of record: StorageRecord, at place: String) -> Standing {
        if record.isForeign {
            return isAbsent(place) ? .unknown : standing(Self.fingerprint(of: record), place)
        }
        // An origin of an earlier release has fingerprints of records of the library's own, too.
        return max(standing(Self.mark(of: record.revision), place), standing(Self.fingerprint(of: record), place))
    }

    /// How a value that was made of others stands to this one: by what it was made of.
    func standing(ofOneMadeOf other: RecordOrigin) -> Standing {
        other.copies.map { standing($0.value, $0.key) }.min() ?? .unknown
    }

    /// How a record that was written again without a change of its value stands to this one.
    func standing(ofRewriteOf other: RecordOrigin, at place: String) -> Standing {
        other.rewrites?.map { standing($0, place) }.max() ?? .unknown
    }

    private func standing(_ mark: String, _ place: String) -> Standing {
        guard copies[place] == mark || earlier?[place]?.contains(mark) == true else { return .unknown }
        return Self.isRevision(mark) ? .copy : .matching
    }

    /// Whether the value still is what a migration made of this content: a new write of it says nothing new.
    func isMade(of record: StorageRecord) -> Bool { made?.contains(Self.fingerprint(of: record)) == true }

    private func isAbsent(_ place: String) -> Bool { absent?.contains(place) == true }

    /// Whether a value of another program at this place is known by its content, and the place is not known to have been empty since.
    func awaitsAbsence(of place: String) -> Bool {
        if isAbsent(place) { return false }
        return ([copies[place]].compactMap(\.self) + (earlier?[place] ?? [])).contains { !Self.isRevision($0) }
    }

    // MARK: Recording

    /// Adds a copy, if the destination may know its mark.
    mutating func add(_ copy: SourceRecord, destination: Route, byContent: Bool = false) {
        guard destination.protection >= copy.route.protection else { return }
        let place = copy.route.placeName
        let before = copies.updateValue(Self.mark(of: copy.record, byContent: byContent), forKey: place)
        if let before { remember([before], of: place, isLatest: true) }
        absent?.removeAll { $0 == place }
    }

    /// Adds a copy that the value is made of.
    mutating func addSource(_ copy: SourceRecord, destination: Route, byContent: Bool) {
        add(copy, destination: destination, byContent: byContent)
        if copy.record.isForeign, destination.protection >= copy.route.protection {
            made = (made ?? []) + [Self.fingerprint(of: copy.record)]
        }
    }

    /// Adds what a source of this value names, and what it was made of itself.
    mutating func mergeSource(_ other: RecordOrigin?) {
        merge(other)
        if let content = other?.made { made = (made ?? []) + content }
    }

    /// Records that a place is empty, durably.
    mutating func recordAbsence(of place: String) {
        if !isAbsent(place) { absent = (absent ?? []) + [place] }
    }

    /// Records that this value has been written before, under another revision.
    mutating func recordRewrite(of record: StorageRecord, _ origin: RecordOrigin?) {
        rewrites = Array(([Self.mark(of: record.revision)] + (origin?.rewrites ?? [])).prefix(Self.memory))
    }

    /// Adds what another record names. Of one place, what is named here counts as the latest.
    mutating func merge(_ other: RecordOrigin?) {
        guard let other else { return }
        for place in other.absent ?? [] where copies[place] == nil { recordAbsence(of: place) }
        for (place, mark) in other.copies.sorted(by: { $0.key < $1.key }) {
            if copies[place] == nil { copies[place] = mark } else { remember([mark], of: place) }
        }
        for (place, marks) in other.earlier ?? [:] { remember(marks, of: place) }
    }

    /// - Parameter isLatest: Whether it is later than what is remembered already, and the last to be forgotten.
    private mutating func remember(_ added: [String], of place: String, isLatest: Bool = false) {
        let past = earlier?[place] ?? []
        var known: [String] = []
        for mark in isLatest ? added + past : past + added {
            if copies[place] != mark, !known.contains(mark) { known.append(mark) }
        }
        if known.isEmpty { return }
        earlier = (earlier ?? [:]).merging([place: Array(known.prefix(Self.memory))]) { $1 }
    }
}
