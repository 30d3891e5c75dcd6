import Synchronization

/// Many journeys on two threads, one for each seed.
package struct JourneySeries: Sendable {
    package var seeds: Range<UInt64>
    package var mutant: Mutant?
    /// The number of failures after which no further journey starts.
    package var limit = 1

    package init(_ seeds: Range<UInt64>, mutant: Mutant? = nil, limit: Int = 1) {
        (self.seeds, self.mutant, self.limit) = (seeds, mutant, limit)
    }

    /// The combined results of the journeys.
    package struct Result: Sendable {
        package var runs = 0
        package var steps = 0
        /// The failures, in the order of their seeds.
        package var failures: [(seed: UInt64, failure: JourneyFailure)] = []
    }

    /// Carries out the journeys and waits.
    package func run() -> Result {
        let result = Mutex(Result())
        let next = Mutex(seeds.lowerBound)
        Threads.run(2) {
            while result.withLock({ $0.failures.count }) < limit {
                let seed = next.withLock { next in
                    defer { if next < seeds.upperBound { next += 1 } }
                    return next
                }
                guard seed < seeds.upperBound else { return }
                do throws(JourneyFailure) {
                    let steps = try Journey(seed: seed).run(seed: seed, mutant: mutant)
                    result.withLock { ($0.runs, $0.steps) = ($0.runs + 1, $0.steps + steps) }
                } catch {
                    result.withLock { $0.failures.append((seed, error)) }
                }
            }
        }
        return result.withLock { result in
            result.failures.sort { $0.seed < $1.seed }
            return result
        }
    }
}
