import BackendConformance
import BackendContract
import TestSupport
import Testing

/// A law and a bench on which it is checked. A failure prints both.
struct Case: Sendable, CustomTestStringConvertible {
    let law: BackendLaw
    let bench: LawBench

    var testDescription: String { "\(bench): \(law)" }

    /// All cases, with a quarter of the repetitions that the laws ask for.
    /// `Scripts/prove laws` runs all repetitions and more.
    static let all = (benches + keyringBenches + sqliteBenches).flatMap { bench in
        var bench = bench
        bench.scale *= LawSettings().factor / 4
        return BackendLaw.all.filter { $0.applies(to: bench) }.map { Case(law: $0, bench: bench) }
    }
}

@Suite(.inTurn, .slow("starts programs"), .tags(.campaign, .keyring)) struct LawTests {
    @Test(arguments: Case.all)
    func `every backend keeps every law that applies to it`(_ pair: Case) async throws { try await pair.law.verify(on: pair.bench) }

    @Test func `every law is checked on some backend and has a unique name`() {
        for law in BackendLaw.all { #expect(Case.all.contains { $0.law.name == law.name }, "\(law)") }
        #expect(Set(BackendLaw.all.map(\.name)).count == BackendLaw.all.count)
    }
}
