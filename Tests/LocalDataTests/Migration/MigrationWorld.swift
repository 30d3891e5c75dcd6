import LocalData
import TestSupport

/// The content of a slot, the location of one value in a store. The store may be locked or unavailable.
///
/// The keys in the law tests have text values. Numbers and lists are contents that these keys cannot decode.
enum Held: Hashable, Sendable {
    case absent
    case value(String)
    /// A number: it does not decode as a text, but a migration within the slot can convert it.
    case number(Int)
    /// A list: it decodes neither as a text nor as a number.
    case alien(Int)
    case tombstone
    case corrupt(Int)

    /// The content as a short text; nil for an absent slot and for a tombstone.
    var text: String? {
        switch self {
        case .absent, .tombstone: nil
        case .value(let text): text
        case .number(let number): "\(number)"
        case .alien(let number): "[\(number)]"
        case .corrupt(let number): "!\(number)"
        }
    }

    /// Creates the content from its short text.
    init(text: String) {
        if let number = Int(text) {
            self = .number(number)
        } else if text.hasPrefix("["), let number = Int(text.dropFirst().dropLast()) {
            self = .alien(number)
        } else if text.hasPrefix("!"), let number = Int(text.dropFirst()) {
            self = .corrupt(number)
        } else {
            self = .value(text)
        }
    }

    /// Puts a number into undecodable or damaged content, so that no two slots have equal content of this kind.
    mutating func number(_ number: Int) {
        switch self {
        case .number: self = .number(number)
        case .alien: self = .alien(number)
        case .corrupt: self = .corrupt(number)
        case .absent, .value, .tombstone: return
        }
    }

    /// Whether the slot has a record with a payload, even one that its key cannot decode.
    var isRecord: Bool {
        switch self {
        case .value, .number, .alien: true
        case .absent, .tombstone, .corrupt: false
        }
    }
}

/// Whether a store can be read.
enum Reach: Hashable, Sendable { case open, locked, unavailable }

/// The record of a legacy location that the destination names as superseded: none, the current record, or an earlier one.
enum Naming: Hashable, Sendable { case none, current, former }

/// A legacy location and the options of the migration from it.
struct OlderPlace: Hashable, Sendable {
    var held: Held
    var reach: Reach
    /// Whether the location is in the keyring, which protects better than a property list.
    var isStrong: Bool
    /// Whether another program wrote the content. Such content has no unique revision, because it is written without metadata.
    var isForeign: Bool
    var naming: Naming
    /// Whether the migration has the option `whenSourceUnavailable: .skip`.
    var skips: Bool
    var allowsWeaker: Bool
}

/// The conflict policies as comparable values, with one case for each merge closure of the tests.
enum Policy: Hashable, Sendable {
    case destinationWins, sourceWins
    /// Merge closures: join the legacy value and the destination's value, keep the destination's value, remove it, or throw.
    case join, keep, writeTombstone, refuse
}

/// A call that a test makes for the key.
enum Action: Hashable, Sendable {
    case value, sweep, force, set(String), remove
}

/// The settings of one key, the contents of its destination and legacy locations, and the states of their stores.
struct World: Hashable, Sendable {
    var held: Held
    var reach: Reach
    var isStrong: Bool
    var policy: Policy
    /// Whether the first migration converts a number in the key's slot to a text.
    var convertsInPlace: Bool
    var keepsReplacedBytes: Bool
    var places: [OlderPlace]

    var hasMigration: Bool { convertsInPlace || !places.isEmpty }

    /// A description for the report of a failure.
    var spelledOut: String {
        let places = places.map { place in
            "\(place.isStrong ? "strong" : "plain")\(place.isForeign ? " foreign" : "") \(place.held) \(place.reach) named: \(place.naming)\(place.skips ? " skips" : "")\(place.allowsWeaker ? " allowsWeaker" : "")"
        }
        return
            "\(isStrong ? "strong" : "plain") \(held) \(reach), \(policy)\(convertsInPlace ? ", converts in place" : "")\(keepsReplacedBytes ? ", keeps" : ""); from [\(places.joined(separator: "; "))]"
    }

    /// The copies that the destination's record names as superseded: the text of each copy, by the index of its legacy location.
    var named: [Int: String] {
        guard held != .absent, held.text?.hasPrefix("!") != true else { return [:] }
        var named: [Int: String] = [:]
        for (index, place) in places.enumerated() where isStrong || !place.isStrong || !place.isForeign {
            switch place.naming {
            case .none: continue
            case .current: named[index] = place.held.isRecord ? place.held.text : nil
            case .former: named[index] = "former"
            }
        }
        return named
    }
}

extension Arbitrary where Value == Reach {
    static var reach: Arbitrary { .one(of: [.open, .open, .open, .open, .open, .open, .unavailable, .locked]) }
}

extension Arbitrary where Value == Held {
    /// Generates contents of a slot. Equal texts are frequent. Undecodable and damaged contents have the given number.
    static func held(_ number: Int) -> Arbitrary {
        .one(
            of: [
                .absent, .value("a"), .value("b"), .value("c"), .value("a"), .value("b"), .tombstone, .number(number), .alien(number),
                .corrupt(number),
            ])
    }
}

extension Arbitrary where Value == OlderPlace {
    static var place: Arbitrary {
        zip(
            zip(Arbitrary<Held>.held(0), .reach), zip(Arbitrary<Bool>.flag, .flag, .flag, .flag),
            Arbitrary<Naming>.one(of: [.none, .current, .former])
        ).map { state, flags, naming in
            // Only a text can be foreign, which means written by another program: that program encodes only texts as the library does.
            let isForeign = if case .value = state.0 { flags.3 && !flags.0 } else { false }
            return OlderPlace(
                held: state.0, reach: state.1, isStrong: flags.0, isForeign: isForeign, naming: naming, skips: flags.1,
                allowsWeaker: flags.2)
        }
    }
}

extension Arbitrary where Value == World {
    /// Generates any combination of settings, contents and states of stores for one key.
    static var world: Arbitrary {
        return zip(
            zip(Arbitrary<Held>.held(100), .reach), zip(Arbitrary<Bool>.flag, .flag, .flag),
            Arbitrary<Policy>.one(of: [.destinationWins, .sourceWins, .join, .keep, .writeTombstone, .refuse]),
            Arbitrary<OlderPlace>.place.list(0...3)
        ).map { state, flags, policy, places in
            var places = places
            for index in places.indices { places[index].held.number(101 + index) }
            return World(
                held: state.0, reach: state.1, isStrong: flags.0, policy: policy, convertsInPlace: flags.1,
                keepsReplacedBytes: flags.2, places: places)
        }
    }
}

extension Arbitrary where Value == Action {
    static var action: Arbitrary { .one(of: [.value, .sweep, .force, .set("a"), .set("new"), .remove]) }
}
