import BackendContract
import Foundation
import LocalDataTesting

@testable import LocalData

/// Runs the real router on stores in memory. A `World` describes the contents and states of the stores.
struct MigrationBench {
    struct Refused: Error {}

    private let world: World
    private let machine = TestMachine()
    let router: StorageRouter
    private let key: StorageKey<String>
    /// The mark of each legacy record, by the index of its location. A mark identifies a record in the list of superseded copies.
    /// It is the revision, or a fingerprint if another program wrote the record.
    private var marks: [Int: String] = [:]

    /// Writes the contents into the stores, registers the key, and then locks stores or makes them unavailable.
    init(_ world: World) async throws {
        self.world = world
        router = machine.launch()
        key = Self.key(world)
        for (index, place) in world.places.enumerated() {
            let domain = Self.domain(index, place.isStrong)
            if place.isForeign, let text = place.held.text {
                machine.writeForeign(.string(text), to: domain, name: "v")
            } else {
                try await put(place.held, in: domain, isStrong: place.isStrong)
            }
            marks[index] = try await backend(domain).read(StorageAddress("v")).record.map { RecordOrigin.mark(of: $0) }
        }
        let domain = key.domain
        try await put(world.held, in: domain, isStrong: world.isStrong, naming: world.named)
        try await router.registerCatalog(TestCatalog([.key(key)]))
        for (index, place) in world.places.enumerated() { reach(place.reach, Self.domain(index, place.isStrong)) }
        reach(world.reach, domain)
    }

    // MARK: The key

    private static func domain(_ index: Int, _ isStrong: Bool) -> StorageDomain {
        isStrong ? .keychain(service: "s\(index)") : .userDefaults(suite: "s\(index)")
    }

    private static func key(_ world: World) -> StorageKey<String> {
        let domain = world.isStrong ? StorageDomain.keychain(service: "d") : .userDefaults(suite: "d")
        var key = textKey("v", domain)
        if world.convertsInPlace {
            let before = testKey("v", domain, of: Int.self)
            key = key.moved(from: before, options: MigrationOptions(keepsReplacedBytes: world.keepsReplacedBytes)) { "n\($0)" }
        }
        for (index, place) in world.places.enumerated() {
            let source = textKey("v", Self.domain(index, place.isStrong))
            key = key.moved(
                from: source,
                options: MigrationOptions(
                    whenSourceUnavailable: place.skips ? .skip : .fail, allowsWeakerProtection: place.allowsWeaker))
        }
        switch world.policy {
        case .destinationWins: return key
        case .sourceWins: return key.resolvingConflicts(.sourceWins)
        case .join: return key.resolvingConflicts(.merge { mine, theirs in "\(mine ?? "-")+\(theirs)" })
        case .keep: return key.resolvingConflicts(.merge { mine, _ in mine })
        case .writeTombstone: return key.resolvingConflicts(.merge { _, _ in nil })
        case .refuse: return key.resolvingConflicts(.merge { _, _ in throw Refused() })
        }
    }

    // MARK: The stores

    /// The payload that the library would write for the content with this short text.
    private static func payload(_ text: String, isStrong: Bool) -> StoragePayload {
        switch Held(text: text) {
        case .number(let number) where !isStrong: .native(.integer(Int64(number)))
        case .number, .alien: .bytes(Array(text.utf8))
        default: isStrong ? .bytes(Array("\"\(text)\"".utf8)) : .native(.string(text))
        }
    }

    private static func text(_ payload: StoragePayload) -> String {
        switch payload {
        case .native(.string(let text)): text
        case .native(.integer(let number)): "\(number)"
        case .native(let value): "unexpected \(value)"
        case .bytes(let bytes): text(bytes)
        }
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self).trimmingCharacters(in: ["\""])
    }

    private static func place(_ index: Int, _ place: OlderPlace) -> String {
        LocalData.Place(kind: place.isStrong ? "keychain" : "userDefaults", scope: "s\(index)", StorageAddress("v")).text
    }

    /// The mark of an earlier record. No legacy location contains this record any more.
    private static let formerMark = RecordOrigin.mark(of: StorageRecord(payload: .bytes([]), revision: StorageRevision([0])))

    private func backend(_ domain: StorageDomain) async throws -> FaultingBackend {
        if let backend = machine.backends(of: domain).first { return backend }
        // A call makes the router open the store. Only then does the machine have a backend for it.
        _ = try await router.exists(textKey("other", domain))
        guard let backend = machine.backends(of: domain).first else { throw Refused() }
        return backend
    }

    private func put(_ held: Held, in domain: StorageDomain, isStrong: Bool, naming: [Int: String] = [:]) async throws {
        let backend = try await backend(domain)
        var copies: [String: String] = [:]
        for (index, text) in naming {
            copies[Self.place(index, world.places[index])] = text == "former" ? Self.formerMark : marks[index]
        }
        var metadata = StorageMetadata()
        if !copies.isEmpty { metadata.origin = Array(try JSONSerialization.data(withJSONObject: ["copies": copies], options: .sortedKeys)) }
        let address = StorageAddress("v")
        switch held {
        case .absent: return
        case .tombstone: _ = try await backend.apply(.tombstone(metadata, at: address))
        case .corrupt: machine.corrupt(domain, name: "v", bytes: Array((held.text ?? "").utf8))
        case .value, .number, .alien:
            metadata.serializer = "json"
            _ = try await backend.apply(.put(Self.payload(held.text ?? "", isStrong: isStrong), metadata, at: address))
        }
    }

    private func reach(_ reach: Reach, _ domain: StorageDomain) {
        switch reach {
        case .open: return
        case .locked: machine.lock(domain)
        case .unavailable: machine.makeUnavailable(domain)
        }
    }

    // MARK: What is done and seen

    func run(_ action: Action) async -> Answer {
        do {
            switch action {
            case .value: return .value(try await router.value(for: key))
            case .sweep:
                let rows = await router.sweep().rows
                guard let row = rows.first, rows.count == 1 else { return .threw("\(rows.count) rows", applied: false) }
                return .row(row.state, code: row.errorCode?.name)
            case .force:
                let result = try await router.forceMigration(for: key)
                return .row(result.state ?? .failed, code: nil)
            case .set(let text):
                try await router.set(text, for: key)
                return .done
            case .remove:
                try await router.remove(key)
                return .done
            }
        } catch let error as StorageError {
            return .threw(error.code.name, applied: error.outcome == .applied)
        } catch {
            return .threw("\(error)", applied: false)
        }
    }

    /// Reads the contents of all slots and the quarantine.
    ///
    /// Makes all stores readable first, and restores their states afterwards.
    func look(_ answer: Answer? = nil) async throws -> Aftermath {
        var after = Aftermath(answer: answer, held: .absent, named: [:], places: [], quarantine: [])
        var domains = world.places.enumerated().map { (Self.domain($0.offset, $0.element.isStrong), $0.element.reach) }
        domains.append((key.domain, world.reach))
        for (domain, _) in domains {
            machine.unlock(domain)
            machine.makeAvailable(domain)
        }
        for (index, place) in world.places.enumerated() {
            after.places.append(try await look(Self.domain(index, place.isStrong)).0)
        }
        let (held, origin) = try await look(key.domain)
        after.held = held
        if let origin { after.named = try names(origin) }
        for kept in try await router.audit().quarantine {
            after.quarantine.insert(Self.text(try await router.quarantine.data(of: kept)))
        }
        for (domain, state) in domains { reach(state, domain) }
        return after
    }

    private func look(_ domain: StorageDomain) async throws -> (Held, [UInt8]?) {
        switch try await backend(domain).read(StorageAddress("v")) {
        case .absent: return (.absent, nil)
        case .tombstone(let tombstone): return (.tombstone, tombstone.metadata.origin)
        case .corrupt(let corruption): return (Held(text: Self.text(corruption.bytes)), nil)
        case .value(let record): return (Held(text: Self.text(record.payload)), record.metadata.origin)
        case .locked, .unavailable: throw Refused()
        }
    }

    /// Decodes an origin: the part of a record's metadata that lists the legacy copies that the record superseded.
    /// - Returns: The text of each copy, by the index of its legacy location.
    private func names(_ origin: [UInt8]) throws -> [Int: String] {
        let copies = try JSONDecoder().decode(RecordOrigin.self, from: Data(origin)).copies
        var named: [Int: String] = [:]
        for (index, place) in world.places.enumerated() {
            guard let mark = copies[Self.place(index, place)] else { continue }
            named[index] = mark == marks[index] ? place.held.text : mark == Self.formerMark ? "former" : "unknown"
        }
        return named
    }
}
