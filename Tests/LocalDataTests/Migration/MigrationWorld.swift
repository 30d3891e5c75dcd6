import LocalData
import TestSupport

/// What a slot holds, whether or not anybody can look at it. The values are short texts; what no key of the law can read are numbers and lists.
enum Held: Hashable, Sendable {
    case absent
    case value(String)
    /// A number: it does not decode as text, and does as the number that an in-place migration expects.
    case number(Int)
    /// A list: neither text nor number.
    case alien(Int)
    case tombstone
    case corrupt(Int)

    /// The content as the law's own short text; nil where there is none.
    var text: String? {
        switch self {
        case .absent, .tombstone: nil
        case .value(let text): text
        case .number(let number): "\(number)"
        case .alien(let number): "[\(number)]"
        case .corrupt(let number): "!\(number)"
        }
    }

    /// The content whose text this is.
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

    /// Gives what cannot be read a number of its own, so that it is never the same as another place's.
    mutating func number(_ number: Int) {
        switch self {
        case .number: self = .number(number)
        case .alien: self = .alien(number)
        case .corrupt: self = .corrupt(number)
        case .absent, .value, .tombstone: return
        }
    }

    /// Whether there is a record with a payload, readable by its key or not.
    var isRecord: Bool {
        switch self {
        case .value, .number, .alien: true
        case .absent, .tombstone, .corrupt: false
        }
    }
}

/// Whether a store can be looked at.
enum Reach: Hashable, Sendable { case open, locked, unavailable }

/// What a destination's origin says of an older place: nothing, that it replaced what is there, or that it replaced an earlier record with the same content.
enum Naming: Hashable, Sendable { case none, current, former }

/// An older place and the migration that leads from it.
struct OlderPlace: Hashable, Sendable {
    var held: Held
    var reach: Reach
    /// Whether it is in the keyring, which protects better than a property list.
    var isStrong: Bool
    /// Whether another program wrote what is there: it has no revision to be known by.
    var isForeign: Bool
    var naming: Naming
    /// `whenSourceUnavailable: .skip`
    var skips: Bool
    var allowsWeaker: Bool
}

/// The conflict policies, with closures that can be told apart.
enum Policy: Hashable, Sendable {
    case destinationWins, sourceWins
    /// Joins both, keeps the destination's, removes, or throws.
    case join, keep, writeTombstone, refuse
}

/// What is done with the key.
enum Action: Hashable, Sendable {
    case value, sweep, force, set(String), remove
}

/// A state of the world for one key.
struct World: Hashable, Sendable {
    var held: Held
    var reach: Reach
    var isStrong: Bool
    var policy: Policy
    /// Whether the first migration turns a number in the key's own slot into a text.
    var convertsInPlace: Bool
    var keepsReplacedBytes: Bool
    var places: [OlderPlace]

    var hasMigration: Bool { convertsInPlace || !places.isEmpty }

    /// Short enough to be read in a report.
    var spelledOut: String {
        let places = places.map { place in
            "\(place.isStrong ? "strong" : "plain")\(place.isForeign ? " foreign" : "") \(place.held) \(place.reach) named: \(place.naming)\(place.skips ? " skips" : "")\(place.allowsWeaker ? " allowsWeaker" : "")"
        }
        return
            "\(isStrong ? "strong" : "plain") \(held) \(reach), \(policy)\(convertsInPlace ? ", converts in place" : "")\(keepsReplacedBytes ? ", keeps" : ""); from [\(places.joined(separator: "; "))]"
    }

    /// What the destination's record names: places by their index, with the text of the copy.
    var named: [Int: String] {
        guard held != .absent, held.text?.hasPrefix("!") != true else { return [:] }
        var named: [Int: String] = [:]
        for (index, place) in places.enumerated() where isStrong || !place.isStrong {
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
    /// What a slot may hold. Values repeat often; what cannot be read never does.
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
            // What another program writes is not encoded as the library would, but for a text.
            let isForeign = if case .value = state.0 { flags.3 && !flags.0 } else { false }
            return OlderPlace(
                held: state.0, reach: state.1, isStrong: flags.0, isForeign: isForeign, naming: naming, skips: flags.1,
                allowsWeaker: flags.2)
        }
    }
}

extension Arbitrary where Value == World {
    /// Every state of the world for one key.
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
