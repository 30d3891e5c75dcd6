import Synchronization

/// Many runs, on all cores; each has a thread of its own.
package struct Series<S: Subject>: Sendable {
    package var seeds: Range<UInt64>
    package var kind: S.Kind?
    package var mutant: Mutant?
    /// After how many violations no further run is begun.
    package var limit = 1

    package init(_ seeds: Range<UInt64>, kind: S.Kind? = nil, mutant: Mutant? = nil, limit: Int = 1) {
        self.seeds = seeds
        self.kind = kind
        self.mutant = mutant
        self.limit = limit
    }

    /// What the runs came to.
    package struct Result: Sendable {
        package var runs = 0
        package var steps = 0
        package var counts: [String: Int] = [:]
        package var coverage = Coverage<S>()
        package var violations: [Campaign<S>.Violation] = []
    }

    /// Runs them on threads of their own, and waits without holding up a task's.
    package func runAside() async -> Result {
        await Threads.aside { run() }
    }

    /// Runs them, in the order of the seeds as far as that goes with several threads.
    package func run(threads: Int = 2) -> Result {
        let result = Mutex(Result())
        let next = Mutex(seeds.lowerBound)
        Threads.run(threads) {
            var mine = Result()
            while result.withLock({ $0.violations.count }) < limit {
                let seed = next.withLock { next in
                    defer { if next < seeds.upperBound { next += 1 } }
                    return next
                }
                guard seed < seeds.upperBound else { break }
                mine.runs += 1
                do throws(Campaign<S>.Violation) {
                    let outcome = try Campaign<S>(seed: seed, kind: kind).run(mutant)
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
