import BackendContract

extension Scene {
    /// Stores the initial contents of all slots, and returns the initial model of each key.
    func plant() -> [ValueModel] {
        var planted: [Spot: String?] = [:]
        return moving.enumerated().map { index, moving in
            var older: [String?] = []
            for (place, olderPlace) in moving.older.enumerated() {
                let spot = olderPlace.spot
                if let text = planted[spot] {
                    older.append(text)
                    continue
                }
                let text = Self.beginning(of: index, place)
                // If the migration converts the value within its slot, the slot of the key is also the legacy location. If the plan gives
                // this slot another initial content, it cannot also contain a value in the older shape.
                let isTaken = moving.rules.isInPlace && plan.beginnings[index] != .absent
                let value = isTaken ? nil : plant(plan.older[index * 2 + place], text, at: olderPlace)
                planted[spot] = .some(value)
                older.append(value)
                if value != nil { keepOlderSecret(text, in: spot) }
            }
            var model = ValueModel(moving.rules, older: older)
            let text = Marks.text(of: 200_000 + index)
            switch plan.beginnings[index] {
            case .absent: break
            case .value:
                put(
                    .value(.bytes((try? moving.calls.bytes(text)) ?? []), StorageMetadata(serializer: "json"), isForeign: false),
                    moving.spot)
                (model.value, model.isSettled) = (text, true)
                if !moving.spot.medium.hasPrefix("userDefaults") { machine.keepSecret(text) }
            case .removed:
                put(.tombstone(StorageMetadata()), moving.spot)
                model.isSettled = !plan.isForged(.removed)
            case .damaged: machine.disk.corrupt(moving.spot.medium, moving.spot.address, bytes: Array("damage \(index)".utf8))
            case .undecodable: put(.value(Self.undecodable, StorageMetadata(serializer: "json"), isForeign: false), moving.spot)
            }
            return model
        }
    }

    /// Notes that a text was written to a legacy location that is protected better than any destination of the plan may be.
    func keepOlderSecret(_ text: String, in spot: Spot) {
        if spot.medium.hasPrefix("encryptedSQLite"), !plan.kind.allowsWeakerProtection { machine.keepSecret(text) }
    }

    /// The initial text of a legacy location. Programs write it again later, so that a new content can equal an old
    /// one.
    static func beginning(of index: Int, _ place: Int) -> String { Marks.text(of: 100_000 + index * 10 + place) }

    private func plant(_ beginning: ValuePlan.OlderBeginning, _ text: String, at place: OlderPlace) -> String? {
        switch beginning {
        case .absent: return nil
        case .value:
            if let foreign = place.foreign {
                machine.disk.writeForeign(foreign(text), to: place.spot.medium, at: place.spot.address)
            } else {
                let json = (try? place.calls?.bytes(text)) ?? Array("\"\(text)\"".utf8)
                put(.value(.bytes(json), StorageMetadata(serializer: "json"), isForeign: false), place.spot)
            }
            return text
        case .damaged:
            machine.disk.corrupt(place.spot.medium, place.spot.address, bytes: Array("older damage \(text.suffix(4))".utf8))
            return nil
        case .undecodable:
            put(.value(Self.undecodable, StorageMetadata(serializer: "json"), isForeign: false), place.spot)
            return nil
        }
    }

    private func put(_ content: SimulatedDisk.Content, _ spot: Spot) {
        machine.disk.plant(content, in: spot.medium, at: spot.address, isOneFile: !spot.medium.hasPrefix("keychain"))
    }
}
