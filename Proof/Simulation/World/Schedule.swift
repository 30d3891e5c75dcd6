import TestSupport

/// How a simulation chooses the next of its ready steps. A step belongs to a task or to a lane (a serial queue), its owner.
package enum Schedule: Hashable, Sendable {
    /// Each ready step is equally likely.
    case uniform
    /// Each owner has a weight. Some owners are many times faster than others.
    case weighted
    /// Each owner has a priority, and the step of the owner with the highest priority is taken. At as many drawn steps as
    /// `changes` says, the owner whose step is taken gets the lowest priority. Such a schedule finds an error that needs
    /// `changes` + 1 orderings with a probability that has a lower bound (Burckhardt et al.: A Randomized Scheduler with
    /// Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).
    case priorities(changes: Int)

    /// The schedule that follows from a seed.
    init(seed: UInt64) {
        var numbers = SeededGenerator(seed ^ 0x5EED_5C4E_D01E_0001)
        self =
            switch numbers.next() % 8 {
            case 0..<4: .uniform
            case 4: .weighted
            case 5, 6: .priorities(changes: 1)
            default: .priorities(changes: 2)
            }
    }

    /// Returns the schedule of a name: uniform, weighted, pct2 or pct3.
    package init?(name: String) {
        switch name {
        case "uniform": self = .uniform
        case "weighted": self = .weighted
        case "pct2": self = .priorities(changes: 1)
        case "pct3": self = .priorities(changes: 2)
        default: return nil
        }
    }
}

/// Chooses steps by the schedule of a run.
struct StepPicker {
    let schedule: Schedule
    private var numbers: SeededGenerator
    /// The weight or priority of each owner.
    private var ranks: [UInt64] = []
    /// The owners by the texts that identify them. The system numbers tasks for the whole process, so their numbers differ from run to
    /// run. The order in which they appear does not.
    private var owners: [String: Int] = [:]
    private var taken = 0
    /// The steps at which a priority changes, in descending order.
    private var changes: [Int] = []

    /// The numbers of steps within which priorities change. Most runs have fewer than the last. Values are moved early in a run.
    private static let lengths = [40, 120, 400]

    init(_ schedule: Schedule, seed: UInt64) {
        self.schedule = schedule
        numbers = SeededGenerator(seed ^ 0x5EED_5C4E_D01E_0002)
        if case .priorities(let count) = schedule {
            let length = Self.lengths[Int.random(in: Self.lengths.indices, using: &numbers)]
            changes = (0..<count).map { _ in Int.random(in: 0..<length, using: &numbers) }.sorted(by: >)
        }
    }

    /// Returns the owner of a task's step.
    mutating func owner(of job: UnownedJob) -> Int { schedule == .uniform ? 0 : owner("\(job)") }

    /// Returns the owner of a lane's step.
    mutating func owner(ofLane lane: Int) -> Int { schedule == .uniform ? 0 : owner("lane \(lane)") }

    private mutating func owner(_ text: String) -> Int {
        if let known = owners[text] { return known }
        // Weights are powers of two. Priorities are higher than all those that changes give.
        ranks.append(schedule == .weighted ? 1 << (numbers.next() % 8) : numbers.next() | 1 << 63)
        owners[text] = ranks.count - 1
        return ranks.count - 1
    }

    /// Chooses a step, given the owners of all ready ones. Returns its index.
    mutating func pick(_ ready: [Int]) -> Int {
        if schedule == .weighted {
            var left = UInt64.random(in: 0..<ready.reduce(0) { $0 + ranks[$1] }, using: &numbers)
            for (index, owner) in ready.enumerated() {
                if left < ranks[owner] { return index }
                left -= ranks[owner]
            }
        }
        let pick = ready.indices.max { ranks[ready[$0]] < ranks[ready[$1]] } ?? 0
        taken += 1
        if let next = changes.last, taken > next {
            changes.removeLast()
            ranks[ready[pick]] = UInt64(changes.count)
        }
        return pick
    }
}
