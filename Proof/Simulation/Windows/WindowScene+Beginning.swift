import BackendContract
import LocalData

/// The states of the keys at the beginning of a run, for the model of what the versions may read.
enum WindowBeginnings: Sendable {
    case moved([WindowModel])
    case inPlace([InPlaceModel])
}

extension WindowScene {
    /// Fills the stores before the first program starts.
    func plant() -> WindowBeginnings {
        if plan.kind.isInPlace { return .inPlace(keys.indices.map(plantShape)) }
        return .moved(keys.enumerated().compactMap { index, key in key.older.map { plant(index, key, $0) } })
    }

    /// The first content of the legacy location, or of the slot. Programs write it again later: then a new write has an old content.
    static func beginning(of index: Int) -> String { Marks.text(of: 100_000 + index) }

    private static func newer(_ index: Int) -> String { Marks.text(of: 200_000 + index) }

    // MARK: A value that moves

    private func plant(_ index: Int, _ key: KeptKey, _ place: OlderPlace) -> WindowModel {
        let beginning = plan.beginnings[index]
        let older = beginning == .nothing || beginning == .newer ? nil : Self.beginning(of: index)
        if let older, let bytes = try? place.calls?.bytes(older) {
            keepSecret(older)
            put(.value(.bytes(bytes), metadata, isForeign: false), place.spot)
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
        case .older, .nothing, .foreign: return WindowModel(key.rules, isActive: isActive, older: older)
        }
    }

    /// The metadata of the values with which a run begins. Queries find a record by its type and version.
    private var metadata: StorageMetadata {
        guard plan.stores == .records else { return StorageMetadata(serializer: "json") }
        return StorageMetadata(
            serializer: "json", typeTag: "Line", schemaVersion: 1, attributes: ["LocalData.version": "1"])
    }

    // MARK: A value that changes its shape

    private func plantShape(_ index: Int) -> InPlaceModel {
        let (key, text) = (keys[index], Self.beginning(of: index))
        var value: String?
        func put(_ text: String, _ version: Int) {
            keepSecret(text)
            value = text
            guard let bytes = try? key.calls[version]?.bytes(text) else { return }
            self.put(.value(.bytes(bytes), StorageMetadata(serializer: "json", schemaVersion: version), isForeign: false), key.spot)
        }
        switch plan.beginnings[index] {
        case .nothing, .both, .removed: break
        case .older: put(text, 1)
        case .newer: put(InPlaceModel.text([text, Self.newer(index)]), 2)
        case .foreign:
            value = text
            machine.disk.writeForeign(.string(text), to: key.spot.medium, at: key.spot.address)
        }
        return InPlaceModel(keepsBeside: plan.stores.keepsBeside, value: value)
    }

    private func put(_ content: SimulatedDisk.Content, _ spot: Spot) {
        machine.disk.plant(content, in: spot.medium, at: spot.address, isOneFile: !spot.medium.hasPrefix("keychain"))
    }
}
