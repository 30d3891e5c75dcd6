package import BackendContract
import Crypto
import Foundation
import Sealing

/// The origin of a record: a list of the older copies that the record replaced, stored in its metadata. These copies
/// may be purged.
///
/// Legacy locations are slots where earlier versions of the program kept the value. The destination is the slot of the
/// key itself.
///
/// A copy that this library wrote is identified by its revision. A copy that another program wrote is identified by a
/// fingerprint of its content.
/// Reason: "Older copies are identified by revision, not by content" in Docs/Decisions/Migration.md.
///
/// A fingerprint reveals something about the value, and a revision does not. A fingerprint is therefore recorded only if
/// the destination protects at least as well as the legacy location. Otherwise the origin states that it replaced a copy
/// without identifying it. The origin of a sealed value is sealed too.
package struct RecordOrigin: Codable, Sendable, Equatable {
    /// The mark of the copy that was replaced last, for each legacy location (``Place/text``). A mark is a text that
    /// identifies a copy: see ``mark(of:)``.
    package var copies: [String: String] = [:]
    /// The marks of copies that were replaced before, for each legacy location, with the latest first; nil if there are
    /// none.
    private var earlier: [String: [String]]?
    /// The legacy locations that were durably empty when this record was written: a power loss could not bring a copy
    /// back. If another program writes there later, its value is new, even if it equals an older copy.
    private var absent: [String]?
    /// The legacy locations whose content this record replaced without identifying it. The content could not be read, or
    /// its fingerprint would be protected less than the content. What is found there later may be older than this record.
    private var unnamed: [String]?
    /// The revisions that this record had before it was rewritten with the same value.
    private var rewrites: [String]?
    /// The fingerprints of the values of other programs from which a migration made this value; nil after a `set`.
    private var made: [String]?
    /// The id of the migration that wrote the value; nil after a `set`.
    var migration: String?
    /// The id of the system boot during which the record was written.
    var boot: String?
    /// The state of the release window for each legacy location that has one. During a release window, the library also
    /// keeps a copy of the value (a mirror) in the legacy location, for earlier releases of the program.
    private var windows: [String: WindowState]?
    /// Identifies the record in the destination that a mirror copies. It is only set in the mirror itself, and in the
    /// window mark: a separate record beside the mirror.
    var mirrors: Mirror?

    /// The state of a release window, as a record in the destination stores it.
    private enum WindowState: String, Codable {
        /// A program that keeps the legacy location up to date wrote this record, or an earlier record of the slot.
        case open
        /// As `open`, and the legacy location contained a record when this record was written.
        case kept
        /// A durable record in the legacy location is a part of this record's value: a power loss could not undo that record.
        case made
        /// The window has ended, even if a program still declares it.
        case released
    }

    /// Identifies the record in the destination that a mirror copies. It is stored in the mirror in the legacy
    /// location, and in the window mark, a separate record beside the mirror.
    struct Mirror: Codable, Sendable, Equatable {
        enum Kind: String, Codable, Sendable { case value, removed }

        /// The mark of the destination's record: its revision.
        let revision: String
        let kind: Kind
        /// In a window mark: the time when mirroring began, in seconds since 1970.
        var since: Double?
        /// In a window mark: the id of the system boot during which the mirror was written. Nil if a power loss cannot
        /// undo the mirror.
        var boot: String?
        /// Only in a window mark, if the mirror's store has no metadata: the fingerprint of the mirrored content. Nil
        /// if no mirror was written.
        var content: String?

        init(of revision: StorageRevision, _ kind: Kind) {
            self.revision = RecordOrigin.mark(of: revision)
            self.kind = kind
        }
    }
    init(copies: [String: String] = [:], migration: String? = nil, boot: String? = nil) {
        (self.copies, self.migration, self.boot) = (copies, migration, boot)
    }

    /// Whether an older record is a copy that a value replaced.
    enum Match: Int, Comparable, Sendable {
        /// No: the value's origin does not name the record.
        case none
        /// Perhaps: the record is another program's value with the content of a replaced copy. It may be a new write of
        /// that content. Or the value replaced the content of this location without identifying it.
        case content
        /// Yes: exactly this record was replaced.
        case exact

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// The maximum number of earlier marks that are kept for one legacy location.
    private static let memory = 8

    /// The mark of a source whose fingerprint would be protected less than the source. It identifies no record.
    private static let unidentified = "?"

    // MARK: Marks

    /// Returns the mark that identifies a record: its revision, or the fingerprint of another program's value.
    package static func mark(of record: StorageRecord) -> String {
        record.isForeign ? fingerprint(of: record) : mark(of: record.revision)
    }

    fileprivate static func mark(of revision: StorageRevision) -> String { "r\(hexadecimalText(of: revision.bytes))" }

    private static func isRevision(_ mark: String) -> Bool { mark.hasPrefix("r") }

    /// Returns the first half of the SHA-256 of the payload's canonical bytes, in hexadecimal.
    /// Reason: "Fingerprints have no key" in Docs/Decisions/Sealing.md.
    package static func fingerprint(of record: StorageRecord) -> String {
        hexadecimalText(of: SHA256.hash(data: record.payload.canonicalBytes).withUnsafeBytes { Array($0[..<16]) })
    }

    // MARK: Older records

    /// Returns whether a record in a legacy location is a copy that this value replaced.
    func match(_ record: StorageRecord, at place: String) -> Match {
        if record.isForeign, isAbsent(place) { return .none }
        if isUnnamed(place) { return max(.content, match(Self.mark(of: record), place)) }
        if record.isForeign { return match(Self.fingerprint(of: record), place) }
        // The origins of an earlier release also contain fingerprints of records that this library wrote.
        return max(match(Self.mark(of: record.revision), place), match(Self.fingerprint(of: record), place))
    }

    /// Returns whether a record is the copy that this value replaced last in a legacy location, or has the content of that copy.
    func isLatest(_ record: StorageRecord, at place: String) -> Bool { copies[place] == Self.mark(of: record) }

    /// Compares the copies from which another record was made with the copies that this value replaced. Returns the
    /// weakest match; `none` if the other record was made from no copies.
    ///
    /// An older version of the program may have made the other record from copies that this value replaced.
    /// - Parameter other: The origin of the other record.
    func match(madeOf other: RecordOrigin) -> Match { other.copies.map { match($0.value, $0.key) }.min() ?? .none }

    /// Returns whether another record is a rewrite, without a change of the value, of a copy that this value replaced.
    /// - Parameters:
    ///   - other: The origin of the other record.
    ///   - place: The legacy location that contains the other record.
    func match(rewriteOf other: RecordOrigin, at place: String) -> Match { other.rewrites?.map { match($0, place) }.max() ?? .none }

    private func match(_ mark: String, _ place: String) -> Match {
        if mark == Self.unidentified {
            let isReplaced = !isAbsent(place) && (copies[place] ?? mark) != mark
            return isReplaced || isUnnamed(place) ? .content : .none
        }
        guard copies[place] == mark || earlier?[place]?.contains(mark) == true else { return isUnnamed(place) ? .content : .none }
        return Self.isRevision(mark) ? .exact : .content
    }

    /// Returns whether a mirror is a copy of a record. The mirror must name the revision of the record, or a revision
    /// that the record had before it was rewritten with the same value.
    static func isMirror(_ mirror: Mirror, of revision: StorageRevision, _ origin: RecordOrigin?) -> Bool {
        mirror.revision == mark(of: revision) || origin?.rewrites?.contains(mirror.revision) == true
    }

    /// Returns whether a migration made the present value from a record with this content. If so, another write of this
    /// content contains nothing new.
    func isMade(of record: StorageRecord) -> Bool { made?.contains(Self.fingerprint(of: record)) == true }

    // MARK: Release windows

    /// Returns whether a legacy location contained a record when this record was written, by a program that keeps the
    /// legacy location up to date.
    func isKept(_ place: String) -> Bool { windows?[place] == .kept }

    /// Returns whether a record in a legacy location, which a power loss could not undo, is a part of this record's value.
    func isMade(ofPlace place: String) -> Bool { windows?[place] == .made }

    /// Returns whether the window of a legacy location has ended, even if a program still declares it.
    func isReleased(_ place: String) -> Bool { windows?[place] == .released }

    /// Whether the record was written during a release window that has not ended.
    var isInWindow: Bool { windows?.values.contains { $0 != .released } ?? false }

    /// Whether the record contains the state of any release window.
    var hasWindows: Bool { windows != nil }

    /// Returns whether an encoded origin may contain states of release windows: whether it contains the property name
    /// `windows`.
    static func mayHaveWindows(_ bytes: [UInt8]) -> Bool { Data(bytes).range(of: windowsName) != nil }

    private static let windowsName = Data("\"\(CodingKeys.windows.stringValue)\"".utf8)

    /// Returns whether the record was written during the release window of a legacy location, and the window has not
    /// ended.
    func isInWindow(of place: String) -> Bool { windows?[place].map { $0 != .released } ?? false }

    mutating func noteOpen(_ place: String) { note(.open, place) }
    mutating func noteKept(_ place: String) { note(.kept, place) }
    mutating func noteMade(of place: String) { note(.made, place) }
    mutating func noteReleased(_ place: String) { note(.released, place) }

    private mutating func note(_ state: WindowState, _ place: String) {
        // Reason: "The record states the end before the mirror is deleted" in Docs/Decisions/ReleaseWindows.md.
        if !isReleased(place) { windows = (windows ?? [:]).merging([place: state]) { $1 } }
    }

    /// Returns whether a legacy location was durably empty when the record was written.
    func isAbsent(_ place: String) -> Bool { absent?.contains(place) == true }

    /// Returns whether this record replaced the content of a legacy location without identifying it.
    func isUnnamed(_ place: String) -> Bool { unnamed?.contains(place) == true }

    /// Returns whether it should be recorded that a legacy location is empty. This is so if a copy there is identified
    /// only by its content or not at all, and the location is not recorded as empty yet.
    func awaitsAbsence(of place: String) -> Bool {
        if isAbsent(place) { return false }
        if isUnnamed(place) { return true }
        return ([copies[place]].compactMap(\.self) + (earlier?[place] ?? [])).contains { !Self.isRevision($0) }
    }

    // MARK: Recording

    /// The origin as JSON, if it has only what most migrations note; nil for any other origin, which takes `JSONEncoder` longer.
    var shortText: [UInt8]? {
        guard earlier == nil, absent == nil, unnamed == nil, rewrites == nil, windows == nil, mirrors == nil else { return nil }
        var text = Array("{".utf8)
        text.reserveCapacity(384)
        if let boot { text.append("\"boot\":", quoting: [boot], ",") }
        text += "\"copies\":{".utf8
        for (index, copy) in copies.sorted(by: { $0.key < $1.key }).enumerated() {
            text.append(index == 0 ? "" : ",", quoting: [copy.key], ":")
            text.append("", quoting: [copy.value], "")
        }
        text += "}".utf8
        if let made { text.append(",\"made\":[", quoting: made, "]") }
        if let migration { text.append(",\"migration\":", quoting: [migration], "") }
        text += "}".utf8
        return text
    }

    /// Returns whether a copy may be identified in the destination.
    /// Reason: "Fingerprints are stored only under equal protection" in Docs/Decisions/Sealing.md.
    private static func mayIdentify(_ copy: SourceRecord, in destination: Route) -> Bool {
        !copy.record.isForeign || destination.protection >= copy.route.protection
    }

    /// Adds a copy that a change of the value replaces. If the copy may not be identified in the destination, records only
    /// that the content of its location is replaced.
    mutating func add(_ copy: SourceRecord, destination: Route) {
        let place = copy.route.place.text
        guard Self.mayIdentify(copy, in: destination) else { return recordUnnamed(place) }
        add(Self.mark(of: copy.record), place)
    }

    private mutating func add(_ mark: String, _ place: String) {
        if let before = copies.updateValue(mark, forKey: place) { remember([before], of: place, isLatest: true) }
        absent?.removeAll { $0 == place }
        forgetUnnamed(place)
    }

    /// Adds a source: a copy from which a migration makes the value. A source that may not be identified in the destination
    /// is not recorded as replaced: the migration deletes it, and the next value in its location is new.
    /// - Parameter past: The origin of the only source; nil if there are several. If a migration made the source too, the value comes from
    ///   the copies of that origin. So ``match(madeOf:)`` does not compare the source itself.
    mutating func addSource(_ copy: SourceRecord, _ past: RecordOrigin?, destination: Route) {
        let place = copy.route.place.text
        guard Self.mayIdentify(copy, in: destination) else { return add(Self.unidentified, place) }
        if past?.migration != nil { return remember([Self.mark(of: copy.record)], of: place) }
        add(Self.mark(of: copy.record), place)
        if copy.record.isForeign { made = (made ?? []) + [Self.fingerprint(of: copy.record)] }
    }

    /// Returns this origin for a record that may be protected less. Fingerprints are left out: their locations are recorded
    /// as locations whose content was replaced without identifying it.
    var withoutFingerprints: RecordOrigin {
        var origin = self
        origin.made = nil
        origin.copies = copies.filter { Self.isRevision($0.value) || $0.value == Self.unidentified }
        origin.earlier = earlier?.mapValues { $0.filter(Self.isRevision) }.filter { !$0.value.isEmpty }
        for place in copies.keys.sorted() where origin.copies[place] == nil && !isAbsent(place) { origin.recordUnnamed(place) }
        // Without a copy that is left out, it is unknown from what the value was made.
        if origin.copies.count < copies.count { origin.migration = nil }
        return origin
    }

    /// Adds what the origin of a source contains: the copies that the source replaced, and the fingerprints of the
    /// values from which the source was made.
    /// - Parameter other: The origin of the source; nil if it has none.
    mutating func mergeSource(_ other: RecordOrigin?) {
        merge(other)
        if let content = other?.made { made = (made ?? []) + content }
    }

    /// Records that a legacy location is durably empty.
    mutating func recordAbsence(of place: String) {
        if !isAbsent(place) { absent = (absent ?? []) + [place] }
        forgetUnnamed(place)
    }

    /// Records that this record replaced the content of a legacy location without identifying it.
    mutating func recordUnnamed(_ place: String) {
        if !isUnnamed(place) { unnamed = (unnamed ?? []) + [place] }
        absent?.removeAll { $0 == place }
    }

    /// Records that a legacy location is empty, but not durably: a power loss may bring its former content back. If that
    /// content is not identified, it counts as replaced.
    mutating func recordEmpty(_ place: String) { if copies[place] == Self.unidentified { recordUnnamed(place) } }

    private mutating func forgetUnnamed(_ place: String) {
        unnamed?.removeAll { $0 == place }
        if unnamed?.isEmpty == true { unnamed = nil }
    }

    /// Records that this value was written before, under another revision.
    /// - Parameters:
    ///   - revision: The former revision.
    ///   - origin: The origin of the former record, with its earlier revisions.
    mutating func recordRewrite(of revision: StorageRevision, _ origin: RecordOrigin?) {
        rewrites = Array(([Self.mark(of: revision)] + (origin?.rewrites ?? [])).prefix(Self.memory))
    }

    /// Adds the copies in the origin of another record. If both origins name a copy in the same legacy location, this
    /// origin's copy counts as the later one.
    mutating func merge(_ other: RecordOrigin?) {
        guard let other else { return }
        mergeCopies(other)
        // The end of a window is permanent, so this origin inherits it. The other states describe what one writer saw
        // in the legacy location, so this origin only inherits `open`.
        for (place, state) in other.windows ?? [:] {
            if state == .released { noteReleased(place) } else if windows?[place] == nil { noteOpen(place) }
        }
    }

    /// Adds the copies in the origin of another record, without the states of its release windows.
    mutating func mergeCopies(_ other: RecordOrigin) {
        for place in other.absent ?? [] where copies[place] == nil && !isUnnamed(place) { recordAbsence(of: place) }
        for place in other.unnamed ?? [] where copies[place] == nil && !isAbsent(place) { recordUnnamed(place) }
        for (place, mark) in other.copies.sorted(by: { $0.key < $1.key }) {
            if copies[place] == nil { copies[place] = mark } else { remember([mark], of: place) }
        }
        for (place, marks) in other.earlier ?? [:] { remember(marks, of: place) }
    }

    /// Adds marks of earlier copies in a legacy location, and keeps at most ``memory`` of them. The earliest marks are
    /// dropped.
    /// - Parameter isLatest: Whether the added marks are later than the marks that are already there.
    private mutating func remember(_ added: [String], of place: String, isLatest: Bool = false) {
        let past = earlier?[place] ?? []
        var known: [String] = []
        for mark in isLatest ? added + past : past + added where copies[place] != mark && !known.contains(mark) { known.append(mark) }
        if known.isEmpty { return }
        earlier = (earlier ?? [:]).merging([place: Array(known.prefix(Self.memory))]) { $1 }
    }
}

extension [UInt8] {
    /// Appends JSON: a beginning, strings with commas between them, and an end.
    mutating func append(_ beginning: String, quoting texts: [String], _ end: String) {
        self += beginning.utf8
        for (index, text) in texts.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            if !SimpleJSON.append(text, to: &self) { self += (try? Array(JSONEncoder().encode(text))) ?? [] }
        }
        self += end.utf8
    }
}
