import Synchronization

/// Many runs on several threads, one run for each seed.
package struct Series<S: Subject>: Sendable {
    package var seeds: Range<UInt64>
    package var kind: S.Kind?
    /// The variant of the runs, as in ``CampaignPlan/variant``; nil for any variant. Other seeds are left out.
    package var variant: String?
    package var mutant: Mutant?
    /// How the next step of a run is chosen; nil for the schedule that follows from the seed.
    package var schedule: Schedule?
    /// The number of runs of each thread after which no further run starts.
    package var most = Int.max
    /// The number of violations after which no further run starts.
    package var limit = 1

    package init(_ seeds: Range<UInt64>, kind: S.Kind? = nil, variant: String? = nil, mutant: Mutant? = nil, limit: Int = 1) {
        self.seeds = seeds
        self.kind = kind
        self.variant = variant
        self.mutant = mutant
        self.limit = limit
    }

    /// The combined results of the runs.
    package struct Result: Sendable {
        package var runs = 0
        package var steps = 0
        package var counts: [String: Int] = [:]
        package var coverage = Coverage<S>()
        package var violations: [Campaign<S>.Violation] = []
    }

    /// Runs all seeds on new threads, without blocking the thread of the calling task.
    package func runAside() async -> Result {
        await Threads.aside { run() }
    }

    /// Runs all seeds and waits. Threads take the seeds in ascending order.
    package func run(threads: Int = 2) -> Result {
        let result = Mutex(Result())
        let next = Mutex(seeds.lowerBound)
        Threads.run(threads) {
            var mine = Result()
            while mine.runs < most, result.withLock({ $0.violations.count }) < limit {
                let seed = next.withLock { next in
                    defer { if next < seeds.upperBound { next += 1 } }
                    return next
                }
                guard seed < seeds.upperBound else { break }
                if let variant, S.Plan(seed: seed, kind: kind).variant != variant { continue }
                mine.runs += 1
                do throws(Campaign<S>.Violation) {
                    let outcome = try Campaign<S>(seed: seed, kind: kind).run(mutant, schedule: schedule)
                    mine.steps += outcome.steps
                    mine.counts.merge(outcome.counts, uniquingKeysWith: +)
                    mine.coverage.merge(outcome.coverage)
                } catch {
                    result.withLock { $0.violations.append(error) }
                }
            }
            result.withLock { all in
                all.runs += mine.runs
                all.steps += mine.steps
                all.counts.merge(mine.counts, uniquingKeysWith: +)
                all.coverage.merge(mine.coverage)
            }
        }
        return result.withLock { result in
            result.violations.sort { $0.campaign.seed < $1.campaign.seed }
            return result
        }
    }
}
