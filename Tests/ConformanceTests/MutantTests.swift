import BackendConformance
import BackendContract
import Foundation
import MemoryBackend
import TestSupport
import Testing

/// A store with one fault, and the names of the laws that it must break. A law is a rule for every backend.
struct Mutant: Sendable, CustomTestStringConvertible {
    let name: String
    let breaks: [String]
    let fault: FaultyStore.Fault

    let claims: BackendCapabilities

    init(_ name: String, breaks laws: String..., claims: BackendCapabilities = Mutant.fullClaims, fault: FaultyStore.Fault) {
        self.claims = claims
        self.name = name
        self.breaks = laws
        self.fault = fault
    }

    var testDescription: String { name }

    /// Capabilities to which most laws apply.
    static let fullClaims = BackendCapabilities(
        durability: .durable, atomicBatch: true, crossProcess: true, protection: .plain, storesNativeValues: true, sharedWithOthers: true)

    var bench: LawBench {
        var bench = LawBench.memory(
            name, claims, wrap: { [fault] in FaultyStore(store: $0, fault: fault) }, unwrap: { ($0 as? FaultyStore)?.store.medium })
        if fault.forgetsWhenReopened {
            bench.reopen = { [fault, claims] old in
                FaultyStore(store: InMemoryStore(identity: old.identity, capabilities: claims), fault: fault)
            }
        }
        return bench
    }
}

/// Tests that the laws find faulty stores.
@Suite(.inTurn, .slow("breaks every law once"), .tags(.campaign)) struct MutantTests {
    @Test(arguments: Mutant.all)
    func `a faulty store breaks the laws that forbid its fault`(_ mutant: Mutant) async throws {
        for name in mutant.breaks {
            let law = try #require(BackendLaw.all.first { $0.name == name }, "no law says: \(name)")
            try #require(law.applies(to: mutant.bench))
            let violation = await #expect(throws: LawViolation.self, "\(name)") { try await law.verify(on: mutant.bench) }
            #expect(violation?.law == name)
        }
    }

    @Test func `a store that leaves a file outside its folder breaks the law on hostile names`() async throws {
        var bench = LawBench.memory()
        bench.findStrayTraces = { _ in "a file beside the folder" }
        let law = try #require(BackendLaw.all.first { $0.name == "a hostile name works exactly, or is refused as invalidName" })
        let violation = await #expect(throws: LawViolation.self) { try await law.verify(on: bench) }
        #expect(violation?.found == "a file beside the folder")
    }

    @Test func `a store without a fault breaks no law`() async throws {
        let sound = Mutant("sound", fault: FaultyStore.Fault())
        for law in BackendLaw.all where law.applies(to: sound.bench) { try await law.verify(on: sound.bench) }
    }

    @Test func `every law is broken by some faulty store`() {
        let unbroken = Set(BackendLaw.all.map(\.name)).subtracting(Mutant.all.flatMap(\.breaks))
        #expect(unbroken.isEmpty, "no faulty store is known to break: \(unbroken.sorted().joined(separator: "; "))")
    }
}
