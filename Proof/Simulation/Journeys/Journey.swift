import BackendContract
import TestSupport

/// The life of a key and of some records on one machine: releases that move them from store to store, calls of these releases, and
/// accidents. The calls follow each other, so that it is always clear which value must be stored.
package struct Journey: Sendable, CustomStringConvertible {
    /// A place of the values.
    enum Store: String, CaseIterable, Sendable {
        case list, otherList, database, ring
        /// The other list, with sealed values. The key has the same slot in both.
        case sealed
    }

    /// A release of the program, which keeps its values in one store, and declares those of the releases before as legacy locations.
    struct Release: Sendable {
        var store: Store
        /// Whether the release takes its values only from the release before, as that one declares them. Otherwise it names every
        /// earlier store.
        var isChain: Bool
        var policy: Policy
        /// Whether the release before still runs, and its store is kept up to date.
        var hasWindow: Bool
    }

    /// A call. The number chooses the key (0) or a record.
    enum Verb: Sendable {
        case get(Int), exists(Int), set(Int), setExpiring(Int), update(Int), remove(Int)
        case sweep, list, found, setAll, clear, endWindow
        /// The store of the release is forgotten, or everything.
        case forget, forgetEverything
    }

    enum Step: Sendable {
        case call(release: Int, Verb)
        /// A call of the newest release, and at the same time one of an earlier release.
        case beside(Verb, release: Int, Verb)
        /// Another program writes to a list, or removes from it.
        case foreign(release: Int, item: Int, removes: Bool)
        /// A store cannot be used during the rest of the next call, from one of its steps on.
        case trouble(Store, StoreConditions.Trouble, after: Int)
        /// A call of a store fails, after some steps of the next call.
        case failure(Store, StoreConditions.Failure, after: Int)
        /// The program of the next call ends after some steps of the call.
        case end(after: Int)
        case powerCut, restart
        /// Everything that expires has expired afterwards.
        case sleep
    }

    var releases: [Release]
    /// Whether the first release keeps all its records in one value.
    var beginsWithList: Bool
    /// Whether a power cut may undo acknowledged changes of the keyring.
    var isWary: Bool
    var steps: [Step]

    package var description: String {
        let releases = releases.enumerated().map { index, release in
            "\(index): \(release.store)\(release.isChain ? " chain" : "") \(release.policy)\(release.hasWindow ? " window" : "")"
        }
        let options = (beginsWithList ? " begins with a list" : "") + (isWary ? " wary" : "")
        return "\(releases.joined(separator: "; "))\(options)\n" + steps.map { "  \($0)" }.joined(separator: "\n")
    }

    static let items = 4

    package init(seed: UInt64) {
        var numbers = SeededGenerator(seed ^ 0x0A0E_0052_11C3_77D1)
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        var stores = Array(Store.allCases.shuffled(using: &numbers).prefix(below(3) + 2))
        // A value may be sealed or unsealed in its slot, but not return to it later.
        if let (first, last) = Self.indices(of: stores), last > first + 1 { stores.remove(at: last) }
        let policies = Policy.allCases
        var hasWindow = false
        releases = stores.enumerated().map { index, store in
            // Two places in one slot are declared as a conversion within the slot, which is a chain. No chain leads over a release window.
            let isConverted = stores[...index].count { Self.slot(of: $0) == .otherList } > 1
            let isChain = isConverted || !hasWindow && below(3) > 0
            // A key and its legacy location in one slot cannot both have a value.
            let sharesSlot = index > 0 && Self.slot(of: stores[index - 1]) == Self.slot(of: store)
            hasWindow = hasWindow || index > 0 && isChain && !sharesSlot && below(4) == 0 && !stores.contains(.sealed)
            // A merge in the middle of a chain takes what the newest release has replaced: see Docs/KnownLimits.md.
            let isMiddle = index > 0 && index < stores.count - 1
            let policy = policies[below(isMiddle ? policies.count - 1 : policies.count)]
            return Release(store: store, isChain: isChain, policy: policy, hasWindow: hasWindow && isChain)
        }
        // A list has no option that allows weaker protection.
        beginsWithList = stores.count == 2 && [.list, .otherList].contains(stores[0]) && below(2) == 0
        isWary = stores.count == 2 && below(4) == 0
        steps = []
        let count = stores.count
        var newest = 0
        /// Every call of a journey is drawn from some kinds, so that each of these occurs often.
        let kinds = (0..<5).map { _ in below(22) }
        func verb() -> Verb {
            let item = below(Self.items)
            return switch below(2) == 0 ? kinds[below(kinds.count)] : below(22) {
            case 0...3: .get(item)
            case 4: .exists(item)
            case 5...8: .set(item)
            case 9, 10: .setExpiring(item)
            case 11: .update(item)
            case 12...14: .remove(item)
            case 15, 16: .sweep
            case 17: .list
            case 18: .found
            case 19: .setAll
            case 20: .clear
            default: [.forget, .forgetEverything, .endWindow, .sweep][below(4)]
            }
        }
        for _ in 0..<below(20) + 6 {
            if newest + 1 < count, below(5) == 0 { newest = min(count - 1, newest + 1 + below(2)) }
            switch below(16) {
            case 0: steps.append(.foreign(release: below(newest + 1), item: below(Self.items), removes: below(4) == 0))
            case 1:
                steps.append(.trouble(stores[below(newest + 1)], [.locked, .unavailable, .full][below(3)], after: below(2) * below(40)))
            case 2:
                steps.append(.failure(stores[below(newest + 1)], StoreConditions.Failure.allCases[below(3)], after: below(2) * below(60)))
            case 3: steps.append(.end(after: below(60)))
            case 4: steps.append([.powerCut, .restart, .sleep][below(3)])
            case 5 where newest > 0: steps.append(.beside(verb(), release: below(newest), verb()))
            case 6...8 where newest > 0: steps.append(.call(release: below(newest), verb()))
            default: steps.append(.call(release: newest, verb()))
            }
        }
    }

    /// The positions of the two stores that share a slot.
    private static func indices(of stores: [Store]) -> (first: Int, last: Int)? {
        let found = stores.indices.filter { slot(of: stores[$0]) == .otherList }
        return found.count == 2 ? (found[0], found[1]) : nil
    }

    static func slot(of store: Store) -> Store { store == .sealed ? .otherList : store }

    /// All journeys that have one step less.
    var shorter: [Journey] {
        steps.indices.map { index in
            var next = self
            next.steps.remove(at: index)
            return next
        }
    }
}
