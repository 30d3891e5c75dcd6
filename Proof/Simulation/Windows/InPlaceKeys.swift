import BackendContract
import LocalData

/// The keys of a run in which values change their shape in one slot.
struct InPlaceKeys: Sendable {
    private struct One: Codable, Sendable { let text: String }
    private struct Two: Codable, Sendable { let text: String, more: String }
    private struct Three: Codable, Sendable { let text: String, more: String, extra: String }

    let keys: [KeptKey]
    /// What the program of each version knows.
    let readers: [Int: InPlaceModel.Reader]

    init(_ plan: WindowPlan) {
        let merges = plan.stores.merges
        let later =
            switch plan.later {
            case .over: InPlaceModel.Reader(newest: 2, merges: merges)
            case .dropped: InPlaceModel.Reader(newest: 2, isBlind: true)
            case .third: InPlaceModel.Reader(newest: 3, keepsOlder: true, merges: merges)
            }
        readers = [
            1: InPlaceModel.Reader(newest: 1),
            2: InPlaceModel.Reader(newest: 2, keepsOlder: true, merges: merges),
            3: later,
            4: InPlaceModel.Reader(newest: 3, merges: merges),
        ]
        let domain: StorageDomain =
            switch plan.stores {
            case .database, .plain: .encryptedSQLite(database: "b")
            case .ring: .keychain(service: "k")
            default: .userDefaults(suite: "a")
            }
        keys = plan.beginnings.indices.map { Self.key("value\($0)", domain, plan) }
    }

    private static func key(_ name: String, _ domain: StorageDomain, _ plan: WindowPlan) -> KeptKey {
        func bare<Value: Codable & Sendable>(_ type: Value.Type) -> StorageKey<Value> {
            StorageKey(name: name, domain: domain, security: .none, owner: "Simulation", description: "A value")
        }
        let first: KeyCalls
        let two: TypedEvolution<Two>
        if plan.stores == .bare {
            first = KeyCalls(bare(String.self))
            two = Evolution.from(String.self).to {
                Two(text: $0, more: InPlaceModel.nothing)
            } down: {
                $0.text
            }
        } else {
            first = KeyCalls(bare(One.self), text: { $0.text }, make: { One(text: $0) })
            two = Evolution.from(One.self).to {
                Two(text: $0.text, more: InPlaceModel.nothing)
            } down: {
                One(text: $0.text)
            }
        }
        let second = calls(kept(bare(Two.self), two, plan, until: "3", Self.parts, Self.two), Self.parts, Self.two)
        var later = second
        switch plan.later {
        case .over: break
        case .dropped: later = calls(bare(Two.self).evolving(two), Self.parts, Self.two)
        case .third:
            let three = two.to {
                Three(text: $0.text, more: $0.more, extra: InPlaceModel.nothing)
            } down: {
                Two(text: $0.text, more: $0.more)
            }
            later = calls(kept(bare(Three.self), three, plan, until: "4", Self.parts, Self.three), Self.parts, Self.three)
        }
        // Version 4 is version 3 when its own window is over.
        return KeptKey(calls: [1: first, 2: second, 3: later, 4: later], spot: Spot(domain, name), older: nil)
    }

    private static func kept<Value: Codable & Sendable>(
        _ key: StorageKey<Value>, _ evolution: TypedEvolution<Value>, _ plan: WindowPlan, until version: String,
        _ parts: @escaping @Sendable (Value) -> [String], _ make: @escaping @Sendable ([String]) -> Value
    ) -> StorageKey<Value> {
        let window: ReleaseWindow = plan.end == .version ? .until(version: version) : .untilReleased
        if !plan.stores.merges { return key.evolving(evolution, keeping: window, readableBy: 1) }
        // The declared merge, written down by itself and not with the model's.
        return key.evolving(evolution, keeping: window, readableBy: 1) { older, newer in
            let (older, newer) = (parts(older), parts(newer))
            return make(older.indices.map { $0 > 0 && older[$0] == InPlaceModel.nothing ? newer[$0] : older[$0] })
        }
    }

    private static func calls<Value>(
        _ key: StorageKey<Value>, _ parts: @escaping @Sendable (Value) -> [String], _ make: @escaping @Sendable ([String]) -> Value
    ) -> KeyCalls {
        KeyCalls(key, text: { InPlaceModel.text(parts($0)) }, make: { make(InPlaceModel.parts(of: $0)) })
    }

    @Sendable private static func parts(_ value: Two) -> [String] { [value.text, value.more] }
    @Sendable private static func parts(_ value: Three) -> [String] { [value.text, value.more, value.extra] }
    @Sendable private static func two(_ parts: [String]) -> Two { Two(text: parts[0], more: parts[1]) }
    @Sendable private static func three(_ parts: [String]) -> Three { Three(text: parts[0], more: parts[1], extra: parts[2]) }
}
