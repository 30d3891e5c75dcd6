import Foundation
import LocalData
import LocalDataQueries
import TestSupport

/// A random program on a few keys and records. It makes the same calls in every store, and its answers are compared.
struct ComparisonProgram: CustomStringConvertible, Sendable {
    /// A call. Numbers choose a key, a record, a tag or a value.
    indirect enum Step: Sendable {
        case setText(Int, Int), setNumber(Int), setList(Int), setFlag(Int?)
        case read(Int), append(Int), remove(Int), exists(Int)
        case store([Int], tag: Int), retag(Int, tag: Int), readRecord(Int), removeRecord(Int)
        case list, tagged(Int), untagged(Int), count(Int), countAll, ordered(Int), pages(Int, tag: Int?), removeTagged(Int), clear
        case batch(Int, record: Int, tag: Int)
        /// A text or records whose date of expiry has passed.
        case setExpired(Int), storeExpired(Int)
        case sweep, restart
        /// Calls of an earlier release, which uses the legacy locations.
        case olderSet(Int), olderRemove, olderRead, olderStore([Int], tag: Int), olderRemoveRecord(Int), olderList
        case olderSetExpired, olderStoreExpired(Int)
        /// Calls on a cache. Its values are lost with the machine.
        case cache(Int, Int), cached(Int), uncache(Int)
        /// An operation that must not change any answer, alone or while another step is made.
        case operate(Operation), beside(Operation, Step)
        /// Steps whose changes a follower of the records and one of the second text must deliver.
        case followed([Step])
        /// Everything in the store of the keys is destroyed.
        case forget

        /// Whether the step changes something, and its answer does not show it. Only a later answer can show that it was left out.
        var isSilent: Bool {
            switch self {
            case .setText, .setNumber, .setList, .setFlag, .remove, .store, .removeRecord: true
            default: false
            }
        }
    }

    /// An operation on the stores. A store that does not support it leaves it out.
    enum Operation: CaseIterable, Sendable {
        case rotateDataKey, rotateKey, moveByBackup, verify, lock, forgetAnother, look, backup

        /// The operations during which any other step can be made.
        static let accompanying: [Operation] = [.rotateDataKey, .rotateKey, .verify, .look, .backup]
    }

    /// A record with a property that may be declared as an attribute.
    struct Note: Codable, Sendable, Identifiable, Equatable {
        var id: String
        var tag: String
        var weight: Double
        var text: String
    }

    /// The legacy locations of the second text and of the records.
    struct Past: Sendable {
        enum Policy: CaseIterable, Sendable { case destinationWins, sourceWins, merge }
        var policy: Policy
        /// Whether the earlier release still runs, and its locations are kept up to date.
        var hasWindow: Bool
    }

    var steps: [Step]
    /// Nil if the keys have no legacy locations.
    var past: Past?

    var description: String { "\(past.map { "\($0)" } ?? "no earlier release"): [\(steps.map { "\($0)" }.joined(separator: ", "))]" }

    init(seed: UInt64) {
        var numbers = SeededGenerator(seed)
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        let past: Past? =
            below(3) == 0 ? nil : Past(policy: Past.Policy.allCases[below(3)], hasWindow: below(2) == 0)
        self.past = past
        /// A step of the earlier release.
        func olderStep() -> Step {
            switch below(7) {
            case 0, 1: .olderSet(below(Self.texts.count))
            case 2: .olderStore((0..<below(3) + 1).map { _ in below(6) }, tag: below(Self.tags.count))
            case 3: [.olderRemove, .olderRead][below(2)]
            case 4: .olderRemoveRecord(below(6))
            case 5: below(2) == 0 ? .olderSetExpired : .olderStoreExpired(below(6))
            default: .olderList
            }
        }
        /// A change of the records or of a text. The earlier release may make it in a window. Without a window, a change that it makes beside
        /// a read is moved or a conflict, depending on the time of the read.
        func change() -> Step {
            if past?.hasWindow == true, below(2) == 0 { return olderStep() }
            return switch below(6) {
            case 0, 1: .store((0..<below(4) + 1).map { _ in below(6) }, tag: below(Self.tags.count))
            case 2: .removeRecord(below(6))
            case 3: .retag(below(6), tag: below(Self.tags.count))
            case 4: .setText(1, below(Self.texts.count))
            default: .remove(1)
            }
        }
        steps = (0..<below(30) + 10).map { _ in
            if past != nil, below(4) == 0 { return olderStep() }
            return switch below(38) {
            case 0, 1: .setText(below(2), below(Self.texts.count))
            case 2: .setNumber(below(Self.numbers.count))
            case 3: .setList(below(4))
            case 4: .setFlag([nil, 0, 1][below(3)])
            case 5: .read(below(5))
            case 6: .append(below(2))
            case 7: .remove(below(5))
            case 8: .exists(below(5))
            case 9, 10, 11: .store((0..<below(4) + 1).map { _ in below(6) }, tag: below(Self.tags.count))
            case 12: .retag(below(6), tag: below(Self.tags.count))
            case 13: .readRecord(below(6))
            case 14: .removeRecord(below(6))
            case 15: .list
            case 16: .tagged(below(Self.tags.count))
            case 17: .untagged(below(Self.tags.count))
            case 18: .count(below(Self.tags.count))
            case 19: .countAll
            case 20: .ordered(below(4) + 1)
            case 21: .pages(below(3) + 1, tag: below(2) == 0 ? nil : below(Self.tags.count))
            case 22: [.removeTagged(below(Self.tags.count)), .clear][min(1, below(4))]
            case 23: .batch(below(Self.texts.count), record: below(6), tag: below(Self.tags.count))
            case 24: .sweep
            case 25, 26, 27: .operate(Operation.allCases[below(Operation.allCases.count)])
            case 28: .cache(below(4), below(Self.texts.count))
            case 29: .cached(below(4))
            // Without a window, a value that an earlier release writes is a conflict with a removal, but not with nothing.
            case 30: below(3) == 0 || past?.hasWindow == false ? .uncache(below(4)) : .forget
            case 31, 32:
                .beside(Operation.accompanying[below(Operation.accompanying.count)], below(2) == 0 ? .sweep : change())
            case 33: .followed((0..<below(3) + 1).map { _ in change() })
            case 34: .setExpired(below(2))
            case 35: .storeExpired(below(6))
            default: .restart
            }
        }
    }

    /// The first seed, the number of seeds, and whether a mistake is planted: the worlds leave out every second step that is silent.
    /// Proof/steps.py sets them.
    static let first = environment["COMPARISON_FIRST"].flatMap(UInt64.init) ?? 0
    static let count = environment["COMPARISON_SEEDS"].flatMap(UInt64.init) ?? 40
    static let isPlanted = environment["COMPARISON_PLANTED"] != nil
    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    static let texts = [
        "", "plain", "caf\u{E9}", "cafe\u{301}", "\u{0}", "a\nb\t\u{7F}", "\u{1F468}\u{200D}\u{1F469}",
        String(repeating: "x", count: 70_000),
    ]
    static let numbers = [0, -0.0, 1.5, 0.1 + 0.2, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 9_007_199_254_740_993, .infinity]
    static let tags = ["home", "work", "", "caf\u{E9}", "cafe\u{301}", "Home"]
    static let lists: [[String: Int]] = [[:], ["a": 1], ["a": .max, "b": .min], ["\u{E9}": 1, "e\u{301}\u{301}": 2]]

    /// Leaves out records that an earlier release stores after its records were moved. In a store without batches, the removal of a
    /// record is kept, and such a record is a conflict: "Tombstones of a collection are dropped" in Docs/Decisions/Collections.md.
    mutating func leaveOutOlderRecords() {
        guard past?.hasWindow == false else { return }
        steps.removeAll {
            switch $0 {
            case .olderStore, .olderStoreExpired: true
            default: false
            }
        }
    }

    /// All plans that have one step less.
    var shorter: [ComparisonProgram] {
        steps.indices.map { index in
            var next = self
            next.steps.remove(at: index)
            return next
        }
    }
}

/// A store with options, in which a program runs.
struct ComparisonWorld: Sendable {
    /// Starts a program in memory. Nil in a world with files.
    var memory: (@Sendable () -> StorageRouter)?
    var configuration = StorageConfiguration.inMemory()
    var domain = StorageDomain.encryptedSQLite(database: "main")
    var security = SecurityPolicy.automatic
    var declaresAttribute = true
    var indexesAttributes = true
    /// How many programs make the calls, in turn. Each has a separate router.
    var programs = 1
    /// Returns the folder of another machine; nil if the stores are not all in one folder.
    var otherRoot: (@Sendable () -> URL)?

    /// Starts a program on the world's stores.
    func launch() -> StorageRouter { memory?() ?? StorageRouter(configuration: configuration) }
}
