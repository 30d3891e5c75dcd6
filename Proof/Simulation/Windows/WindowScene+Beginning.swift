import BackendContract
import LocalData

extension WindowScene {
    /// Fills the stores before the first program starts.
    /// - Returns: The initial models of the keys.
    func plant() -> [WindowModel] { keys.enumerated().map { plant($0, $1) } }

    /// The initial content of the legacy location. Programs write it again later, so that a new content can equal an
    /// old one.
    static func beginning(of index: Int) -> String { Marks.text(of: 100_000 + index) }

    private static func newer(_ index: Int) -> String { Marks.text(of: 200_000 + index) }

    private func plant(_ index: Int, _ key: KeptKey) -> WindowModel {
        let beginning = plan.beginnings[index]
        let older = beginning == .nothing || beginning == .newer ? nil : Self.beginning(of: index)
        if let older, let bytes = try? key.older.calls?.bytes(older) {
            keepSecret(older)
            put(.value(.bytes(bytes), metadata, isForeign: false), key.older.spot)
        }
        let isActive = isActive(plan.rounds.first)
        switch beginning {
        case .removed:
            put(.tombstone(StorageMetadata()), key.spot)
            return WindowModel(key.rules, isActive: isActive, isSettled: true, older: older, standing: .conflict)
        case .both, .newer:
            let value = key.rules.up(Self.newer(index), over: nil)
            keepSecret(Self.newer(index))
            if let bytes = try? key.calls[2]?.bytes(value) { put(.value(.bytes(bytes), metadata, isForeign: false), key.spot) }
            return WindowModel(
                key.rules, isActive: isActive, value: value, isSettled: true, older: older, standing: older == nil ? .behind : .conflict)
        case .older, .nothing: return WindowModel(key.rules, isActive: isActive, older: older)
        }
    }

    /// The metadata of the values with which a run begins. Those of records also contain a type and a version, by which
    /// queries find them.
    private var metadata: StorageMetadata {
        guard plan.stores == .records else { return StorageMetadata(serializer: "json") }
        return StorageMetadata(
            serializer: "json", typeTag: "Line", schemaVersion: 1, attributes: ["LocalData.version": "1"])
    }

    private func put(_ content: SimulatedDisk.Content, _ spot: Spot) {
        machine.disk.plant(content, in: spot.medium, at: spot.address, isOneFile: !spot.medium.hasPrefix("keychain"))
    }
}
