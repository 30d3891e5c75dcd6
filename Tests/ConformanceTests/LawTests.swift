import BackendConformance
import BackendContract
import TestSupport
import Testing

/// A law and a bench. A law is a rule for every backend. A bench makes the stores of one backend.
/// A failure prints the names of both.
struct Case: Sendable, CustomTestStringConvertible {
    let law: BackendLaw
    let bench: LawBench

    var testDescription: String { "\(bench): \(law)" }

    /// All cases. By default each law is repeated a quarter as often as it specifies.
    /// The environment variable `LOCALDATA_LAWS` multiplies that number. `Scripts/prove laws` sets it.
    static let all = (benches + keyringBenches + sqliteBenches + postgreSQLBenches).flatMap { bench in
        var bench = bench
        bench.scale *= LawSettings().factor / 4
        return BackendLaw.all.filter { $0.applies(to: bench) }.map { Case(law: $0, bench: bench) }
    }
}

/// Tests that the backends keep the laws.
@Suite(.inTurn, .slow("starts programs"), .timeLimit(.minutes(30)), .tags(.campaign, .keyring)) struct LawTests {
    @Test(arguments: Case.all)
    func `every backend keeps every law that applies to it`(_ pair: Case) async throws { try await pair.law.verify(on: pair.bench) }

    @Test func `every law is checked on some backend and has a unique name`() {
        for law in BackendLaw.all { #expect(Case.all.contains { $0.law.name == law.name }, "\(law)") }
        #expect(Set(BackendLaw.all.map(\.name)).count == BackendLaw.all.count)
    }
}
