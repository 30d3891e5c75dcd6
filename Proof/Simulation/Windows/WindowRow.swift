import BackendContract
import Foundation
import LocalData

/// The present state of a key, as a row of the table in "Release windows" in `Docs/Design.md`. It is computed from the
/// visible contents of the disk.
struct WindowRow {
    /// The fields of an origin that describe a release window. An origin is the metadata of a record about the older
    /// copies that it replaced.
    private struct Origin: Decodable {
        struct Mirrors: Decodable { let revision: String, kind: String }
        var copies: [String: String]?
        var absent: [String]?
        var rewrites: [String]?
        /// The states of the windows, such as `released`, by the names of their legacy locations.
        var windows: [String: String]?
        var mirrors: Mirrors?

        init?(_ metadata: StorageMetadata) {
            guard let bytes = metadata.origin, let origin = try? JSONDecoder().decode(Origin.self, from: Data(bytes)) else { return nil }
            self = origin
        }
    }

    private struct Record {
        let revision: String
        let isValue: Bool
        let isForeign: Bool
        let fingerprint: String?
        let origin: Origin?

        /// If this record is a mirror, the revision of the record in the destination that it copies. A later record may
        /// have kept the origin of a mirror. So the kind of the record, a value or a removal, must match, too.
        var mirrored: String? {
            guard let mirrors = origin?.mirrors, mirrors.kind == (isValue ? "value" : "removed") else { return nil }
            return mirrors.revision
        }

        /// The name of this record in the origins of other records.
        var mark: String { isForeign ? fingerprint ?? "" : "r\(revision)" }
    }

    let row: ReleaseWindows.Row

    init(_ key: KeptKey, _ disk: SimulatedDisk, _ weather: StoreConditions) { row = Self.row(key, disk, weather) }

    private static func row(_ key: KeptKey, _ disk: SimulatedDisk, _ weather: StoreConditions) -> ReleaseWindows.Row {
        if weather.hidesContent(of: key.spot.medium) { return .unknown }
        let place = Moving.placeName(key.older.spot)
        let newer = record(disk, key.spot.medium, key.spot.address)
        if newer?.origin?.windows?[place] == "released" { return .released }
        switch weather.trouble(of: key.older.spot.medium) {
        case .locked: return .locked
        case .unavailable: return .outOfReach
        case .full, nil: break
        }
        let older = record(disk, key.older.spot.medium, key.older.spot.address)
        let mark = record(disk, key.older.spot.medium, KeptKey.mark(of: key.older))?.origin?.mirrors?.revision
        guard let newer else { return older?.isValue == true ? .pending : .absent }
        func isNewer(_ revision: String) -> Bool {
            ([newer.revision] + (newer.origin?.rewrites ?? [])).contains { digits($0) == digits(revision) }
        }
        if let mirrored = older?.mirrored { return isNewer(mirrored) ? .mirrored : .late }
        let isMarked = mark.map(isNewer) == true
        let named = newer.origin?.copies?[place]
        let isMade = newer.origin?.windows?[place] == "made"
        if let older, named == older.mark { return .known }
        if older == nil, !isMarked, !isMade, named == nil || newer.origin?.absent?.contains(place) == true { return .known }
        guard isMarked || isMade else { return .conflict }
        return older?.isValue == true ? .changed : newer.isValue ? .removed : .known
    }

    private static func record(_ disk: SimulatedDisk, _ medium: String, _ address: StorageAddress) -> Record? {
        let revision = SimulatedStore.revision(disk.change(of: medium, address)).bytes.map { String(format: "%02x", $0) }.joined()
        switch disk.contents(of: medium)[address] {
        case .value(_, let metadata, let isForeign):
            let fingerprint = isForeign ? disk.record(of: medium, address).map { RecordOrigin.fingerprint(of: $0) } : nil
            return Record(revision: revision, isValue: true, isForeign: isForeign, fingerprint: fingerprint, origin: Origin(metadata))
        case .tombstone(let metadata):
            return Record(revision: revision, isValue: false, isForeign: false, fingerprint: nil, origin: Origin(metadata))
        default: return nil
        }
    }

    /// A revision without the letter `r`, with which it begins in origins.
    private static func digits(_ mark: String) -> Substring { mark.hasPrefix("r") ? mark.dropFirst() : mark[...] }
}
