import Foundation
import Simulation
import TestSupport
import Testing

/// A checker that finds nothing is worth nothing until it is shown that it would.
@Suite(.serialized, .inTurn) struct MutantTests {
    @Test(arguments: MovingValues.mutants)
    func `the campaign notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(MovingValues.self, mutant)
    }

    @Test(arguments: StoredRecords.mutants)
    func `the campaign of records notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(StoredRecords.self, mutant)
    }

    @Test(arguments: ReleaseWindows.mutants)
    func `the campaign of windows notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(ReleaseWindows.self, mutant)
    }

    /// The seed that noticed it last time is tried first; the search is for when it does not any more.
    private func notices<S: Subject>(_ subject: S.Type, _ mutant: Mutant) async throws {
        let known = try NoticingSeeds.load().seed(of: mutant, in: S.self)
        var found: Campaign<S>.Violation?
        if let known { found = await first(S.self, mutant, known..<known + 1) }
        if found == nil { found = await first(S.self, mutant, 0..<20_000) }
        let violation = try #require(found, "\(mutant) was not noticed in 20,000 seeds")
        print("\(mutant): noticed by seed \(violation.campaign.seed) of \(violation.campaign.plan.kind): \(violation.what)")
        // The same run breaks no rule when nothing is missing.
        _ = try violation.campaign.run()
        guard violation.campaign.seed != known else { return }
        if ProcessInfo.processInfo.environment["LOCALDATA_RECORD"] == "1" {
            try NoticingSeeds.record(violation.campaign.seed, of: mutant, in: S.self)
        } else {
            print("\(mutant): found by a search. LOCALDATA_RECORD=1 writes the seed down, so that the next run begins with it.")
        }
    }

    private func first<S: Subject>(_ subject: S.Type, _ mutant: Mutant, _ seeds: Range<UInt64>) async -> Campaign<S>.Violation? {
        await Series<S>(seeds, kind: S.telling(mutant), mutant: mutant).runAside().violations.first
    }
}

/// Which seed noticed that a part was missing. A hint: it saves the search for as long as the code takes the same steps.
struct NoticingSeeds: Codable {
    /// By the subject's name and the part's.
    private var seeds: [String: [String: UInt64]] = [:]

    private static let name = "NoticingSeeds"

    static func load() throws -> NoticingSeeds {
        try JSONDecoder().decode(Self.self, from: Data(contentsOf: #require(Bundle.module.url(forResource: name, withExtension: "json"))))
    }

    func seed<S: Subject>(of mutant: Mutant, in subject: S.Type) -> UInt64? { seeds["\(S.self)"]?[mutant.rawValue] }

    /// Writes a seed into the file among the sources.
    static func record<S: Subject>(_ seed: UInt64, of mutant: Mutant, in subject: S.Type) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "\(name).json")
        var known = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
        known.seeds["\(S.self)", default: [:]][mutant.rawValue] = seed
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try (encoder.encode(known) + Data("\n".utf8)).write(to: file)
    }
}
