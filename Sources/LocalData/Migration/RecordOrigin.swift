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
    /// The migration that brought the value; nil after a `set`.
    var migration: String?
    /// The start of the machine in which it was written.
    var boot: String?

    /// Whether an older copy is one that this value replaced.
    func names(_ place: String, _ record: StorageRecord) -> Bool { copies[place] == Self.fingerprint(of: record) }

    /// The first half of the SHA-256 of the payload's canonical bytes, in hexadecimal.
    package static func fingerprint(of record: StorageRecord) -> String {
        hexadecimalText(of: SHA256.hash(data: record.payload.canonicalBytes).prefix(16))
    }

    /// Adds a copy, if the destination may know its fingerprint.
    mutating func add(_ copy: SourceRecord, destination: Route) {
        guard destination.protection >= copy.route.protection else { return }
        copies[copy.route.placeName] = Self.fingerprint(of: copy.record)
    }

    mutating func merge(_ other: RecordOrigin?) {
        copies.merge(other?.copies ?? [:]) { mine, _ in mine }
    }
}

/// A value in an older place.
struct SourceRecord: Sendable {
    let key: AnyStorageKey
    let route: Route
    let record: StorageRecord
}
