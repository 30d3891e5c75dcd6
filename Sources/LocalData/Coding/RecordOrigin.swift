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
    /// What release windows have to do with this record, by their older places.
    private var windows: [String: WindowState]?
    /// In an older place that is kept up to date: which record of the key's own place this one is a mirror of. Nil for every other record.
    package var mirrors: Mirror?

    /// What a record of a key's own place has to do with a release window.
    private enum WindowState: String, Codable {
        /// The record, or one before it, was written by a program that keeps the older place up to date.
        case open
        /// The older place held something then.
        case kept
        /// The record was made of what the older place held, which was durable.
        case made
        /// The window is over, whatever a program says.
        case released
    }

    /// Names a record of a key's own place: in its mirror in the older place, and in the mark beside the mirror.
    package struct Mirror: Codable, Sendable, Equatable {
        package enum Kind: String, Codable, Sendable { case value, removed }

        /// The mark of the record of the key's own place.
        package let revision: String
        package let kind: Kind
        /// In a mark: when the place was first kept up to date, in seconds since 1970.
        package var since: Double?
        /// In a mark: the start of the machine in which the mirror was written, where it is not certain to survive a power cut; nil where it is.
        package var boot: String?
        /// In a mark beside a place that holds values only: the fingerprint of what was written there; nil for nothing.
        package var content: String?

        package init(of revision: StorageRevision, _ kind: Kind) {
            self.revision = RecordOrigin.mark(of: revision)
            self.kind = kind
        }
    }
    init(copies: [String: String] = [:], migration: String? = nil, boot: String? = nil) {
        self.copies = copies
        self.migration = migration
        self.boot = boot
    }

    /// Whether an older record is a copy of what a value replaced.
    enum Match: Int, Comparable, Sendable {
        /// No: the value names no such record.
        case none
        /// Perhaps: another program's value with the content of one that was replaced. It may have been written anew.
        case content
        /// Yes: the very record that was replaced.
        case exact

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// How many marks of what a place held before are kept.
    private static let memory = 8

    // MARK: Marks

    /// What a record is known by: its revision, or the fingerprint of another program's value.
    package static func mark(of record: StorageRecord) -> String {
        record.isForeign ? fingerprint(of: record) : mark(of: record.revision)
    }

    fileprivate static func mark(of revision: StorageRevision) -> String { "r\(hexadecimalText(of: revision.bytes))" }

    private static func isRevision(_ mark: String) -> Bool { mark.hasPrefix("r") }

    /// The first half of the SHA-256 of the payload's canonical bytes, in hexadecimal.
    package static func fingerprint(of record: StorageRecord) -> String {
        hexadecimalText(of: SHA256.hash(data: record.payload.canonicalBytes).prefix(16))
    }

    // MARK: Older records

    /// Whether a record in an older place is a copy of what this value replaced.
    func match(_ record: StorageRecord, at place: String) -> Match {
        if record.isForeign {
            return isAbsent(place) ? .none : match(Self.fingerprint(of: record), place)
        }
        // An origin of an earlier release has fingerprints of records of the library's own, too.
        return max(match(Self.mark(of: record.revision), place), match(Self.fingerprint(of: record), place))
    }

    /// Whether an older version of the program made a record of nothing but what this value replaced.
    /// - Parameter other: The record's origin.
    func match(madeOf other: RecordOrigin) -> Match { other.copies.map { match($0.value, $0.key) }.min() ?? .none }

    /// Whether a record in an older place is one that this value replaced, written again with the same value.
    /// - Parameter other: The record's origin.
    func match(rewriteOf other: RecordOrigin, at place: String) -> Match { other.rewrites?.map { match($0, place) }.max() ?? .none }

    private func match(_ mark: String, _ place: String) -> Match {
        guard copies[place] == mark || earlier?[place]?.contains(mark) == true else { return .none }
        return Self.isRevision(mark) ? .exact : .content
    }

    /// Whether a mirror is one of a record: it names the record's revision, or an earlier one with the same value.
    static func isMirror(_ mirror: Mirror, of revision: StorageRevision, _ origin: RecordOrigin?) -> Bool {
        mirror.revision == mark(of: revision) || origin?.rewrites?.contains(mirror.revision) == true
    }

    /// Whether the value still is what a migration made of this content: a new write of it says nothing new.
    func isMade(of record: StorageRecord) -> Bool { made?.contains(Self.fingerprint(of: record)) == true }

    // MARK: Release windows

    /// Whether the record was written by a program that keeps a place up to date, while it held something.
    func isKept(_ place: String) -> Bool { windows?[place] == .kept }

    /// Whether the record was made of what a place held.
    func isMade(ofPlace place: String) -> Bool { windows?[place] == .made }

    /// Whether the window of a place is over, whatever a program says.
    package func isReleased(_ place: String) -> Bool { windows?[place] == .released }

    /// Whether a window that the record was written in has not been ended.
    var isInWindow: Bool { windows?.values.contains { $0 != .released } ?? false }

    /// Whether the record says anything of a release window.
    var hasWindows: Bool { windows != nil }

    /// Whether an encoded origin may tell of release windows: only one with the name of that property does.
    static func mayHaveWindows(_ bytes: [UInt8]) -> Bool { Data(bytes).range(of: windowsName) != nil }

    private static let windowsName = Data("\"\(CodingKeys.windows.stringValue)\"".utf8)

    /// Whether the record was written while the window of a place was open, and the window has not been ended since.
    func isInWindow(of place: String) -> Bool { windows?[place].map { $0 != .released } ?? false }

    mutating func noteOpen(_ place: String) { note(.open, place) }
    mutating func noteKept(_ place: String) { note(.kept, place) }
    mutating func noteMade(of place: String) { note(.made, place) }
    mutating func noteReleased(_ place: String) { note(.released, place) }

    private mutating func note(_ state: WindowState, _ place: String) {
        if !isReleased(place) { windows = (windows ?? [:]).merging([place: state]) { $1 } }
    }

    /// Whether a place was empty, durably, when the record was written.
    func isAbsent(_ place: String) -> Bool { absent?.contains(place) == true }

    /// Whether a value of another program at this place is known by its content, and the place is not known to have been empty since.
    func awaitsAbsence(of place: String) -> Bool {
        if isAbsent(place) { return false }
        return ([copies[place]].compactMap(\.self) + (earlier?[place] ?? [])).contains { !Self.isRevision($0) }
    }

    // MARK: Recording

    /// Adds a copy, if the destination may know its mark.
    mutating func add(_ copy: SourceRecord, destination: Route) {
        guard destination.protection >= copy.route.protection else { return }
        let place = copy.route.place.text
        let before = copies.updateValue(Self.mark(of: copy.record), forKey: place)
        if let before { remember([before], of: place, isLatest: true) }
        absent?.removeAll { $0 == place }
    }

    /// Adds a copy that the value is made of.
    mutating func addSource(_ copy: SourceRecord, destination: Route) {
        add(copy, destination: destination)
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
    mutating func recordRewrite(of revision: StorageRevision, _ origin: RecordOrigin?) {
        rewrites = Array(([Self.mark(of: revision)] + (origin?.rewrites ?? [])).prefix(Self.memory))
    }

    /// Adds what another record names. Of one place, what is named here counts as the latest.
    mutating func merge(_ other: RecordOrigin?) {
        guard let other else { return }
        for place in other.absent ?? [] where copies[place] == nil { recordAbsence(of: place) }
        for (place, mark) in other.copies.sorted(by: { $0.key < $1.key }) {
            if copies[place] == nil { copies[place] = mark } else { remember([mark], of: place) }
        }
        for (place, marks) in other.earlier ?? [:] { remember(marks, of: place) }
        // The end of a window is never taken back; what the older place held is said anew by each writer.
        for (place, state) in other.windows ?? [:] {
            if state == .released { noteReleased(place) } else if windows?[place] == nil { noteOpen(place) }
        }
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
