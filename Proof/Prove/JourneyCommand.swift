import ArgumentParser
import Simulation

/// The command that carries out journeys, each of which follows from a seed.
struct Journeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lets random releases follow each other on one machine; exits with 1 if a value was lost or came back.")

    @Option(help: "How many seeds.") var seeds: UInt64 = 2_000
    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "After how many broken rules to stop.") var limit = 1
    @Option(help: "The part of the protocol that is switched off.") var mutant: Mutant?

    func validate() throws { try requireAvailable(mutant) }

    func run() throws {
        let result = JourneySeries(first..<first + seeds, mutant: mutant, limit: limit).run()
        for (seed, failure) in result.failures {
            print("seed \(seed): \(failure.journey.shrunk(failure, seed: seed, mutant: mutant))\n")
        }
        print("tried: \(result.runs) journeys, \(result.steps) steps")
        if !result.failures.isEmpty { throw ExitCode(1) }
    }
}
