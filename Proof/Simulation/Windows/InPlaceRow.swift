import BackendContract
import Foundation

/// Which row of the table of shapes holds for a key now, from what anybody can see on the disk.
struct InPlaceRow {
    /// What an origin says of a pair, as `Docs/Design.md` describes it.
    private struct Origin: Decodable { var pair: String? }

    private struct Record {
        let version: Int
        let pair: String?

        init(_ metadata: StorageMetadata) {
            version = metadata.schemaVersion ?? 1
            pair = metadata.origin.flatMap { try? JSONDecoder().decode(Origin.self, from: Data($0)) }?.pair
        }
    }

    let row: ReleaseWindows.Row

    /// - Parameter newest: The version of the newest program.
    init(_ key: KeptKey, _ disk: SimulatedDisk, _ weather: StoreConditions, newest: Int) {
        row = Self.row(key, disk, weather, newest)
    }

    private static func row(_ key: KeptKey, _ disk: SimulatedDisk, _ weather: StoreConditions, _ newest: Int) -> ReleaseWindows.Row {
        if weather.hidesContent(of: key.spot.medium) { return .slotOutOfReach }
        let contents = disk.contents(of: key.spot.medium)
        func record(_ address: StorageAddress) -> Record? {
            if case .value(_, let metadata, _)? = contents[address] { Record(metadata) } else { nil }
        }
        let newer = (2...newest).reversed().compactMap { record(key.beside($0)) }
        guard let own = record(key.spot.address) else { return newer.isEmpty ? .noShape : .removedShape }
        guard let top = newer.first else { return own.version == 1 ? .alone : .ended }
        guard let pair = own.pair else { return .overwritten }
        if newer.contains(where: { $0.pair != pair }) { return .other }
        return top.version < newest ? .unknownNewest : .intact
    }
}
