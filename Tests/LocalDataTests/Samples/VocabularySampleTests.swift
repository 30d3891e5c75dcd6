import GuideSamplesVocabulary
import LocalData
import LocalDataPlans
import TestSupport
import Testing

/// Runs the samples of `VocabularySamples` and checks the records that they migrate. The samples come from the
/// documentation of Crush, another library with migration plans. A migration policy (such as `lightweight` or `adHoc`)
/// says how stored records get the current schema.
@Suite(.inTurn) struct VocabularySampleTests {
    private typealias Samples = VocabularySamples

    private let records = [
        Samples.Old(id: "1", newProperty: "one", anotherProperty: "x"), Samples.Old(id: "2", newProperty: "two", anotherProperty: "y"),
    ]

    private func expectNew(_ storage: StorageRouter, _ domain: StorageDomain, version: Int) async throws {
        for record in records {
            let found = try await storage.storedValue(record.id, in: Samples.new(domain, version: version))
            #expect(found?.value == Samples.New(id: record.id, newProperty: record.newProperty))
            #expect(found?.schemaVersion == version)
        }
    }

    @Test(arguments: Place.allCases) func `the sample of the policy lightweight migrates its records`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = Samples.Catalog("1", .collection(Samples.old(domain)), ["id", "newProperty", "anotherProperty"])
            try await Samples.lightweight(launch(), old).sweep.requireComplete()
            try await launch().set(records, in: Samples.old(domain))
            let new = Samples.Catalog("2", .collection(Samples.new(domain, version: 1)), ["id", "newProperty"])
            let report = try await Samples.lightweight(launch(), new)
            #expect(report.plan.steps.map(\.kind) == [.lightweight])
            try await expectNew(launch(), domain, version: 1)
            #expect(try await Samples.lightweight(launch(), new).plan.steps == [])
        }
    }

    @Test(arguments: Place.allCases) func `the sample of the policy adHoc adds a new entity`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let text = StorageKey<String>(name: "text", domain: domain, owner: "Samples", description: "Something else")
            var old = TestCatalog([.key(text)], CatalogSchema("OLD_SCHEMA"))
            old.id = "samples"
            try await launch().registerCatalog(old, migrationPolicy: .lightweight)
            let new = Samples.Catalog("NEW_SCHEMA", .collection(Samples.new(domain, version: 1)), ["newProperty"])
            let report = try await Samples.adHoc(launch(), new)
            #expect(report.plan.steps.map(\.kind) == [.adHoc])
            try await launch().set(Samples.New(id: "1", newProperty: "one"), in: Samples.new(domain, version: 1))
            #expect(try await Samples.adHoc(launch(), new).plan.steps == [])
        }
    }

    @Test(arguments: Place.allCases)
    func `the samples of the policies incremental and composite migrate the same records`(place: Place) async throws {
        // The sample of the policy composite has a chain of versions, and an ad-hoc plan between the same two versions.
        // The router then uses the ad-hoc plan.
        for (run, kind) in [(Samples.incremental, PlanReport.Step.Kind.incremental), (Samples.composite, .adHoc)] {
            try await place.withLaunches { launch, domain in
                // These records are from a program that did not record a schema version.
                try await launch().set(records, in: Samples.old(domain))
                let new = Samples.Catalog("V2", .collection(Samples.new(domain, version: 2)), ["newProperty"])
                let report = try await run(launch(), new)
                #expect(report.plan.from == "V1")
                #expect(report.plan.to == "V2")
                #expect(report.plan.steps.map(\.records) == [2])
                #expect(report.plan.steps.map(\.kind) == [kind])
                try await expectNew(launch(), domain, version: 2)
                let documents = StorageCollection<StoredDocument>(
                    "NewEntity", domain: domain, owner: "Samples", description: "As they stand", typeTag: "NewEntity", id: { _ in "" }
                ).version(2)
                #expect(try await launch().get(documents.key("1")).names == ["id", "newProperty"])
                #expect(try await run(launch(), new).plan.steps == [])
            }
        }
    }

    @Test func `the registration of a catalog throws if a custom policy refuses the store`() async throws {
        try await Place.memory.withLaunches { launch, domain in
            try await launch().set(records, in: Samples.old(domain))
            let new = Samples.Catalog("V2", .collection(Samples.new(domain, version: 2)), ["newProperty"])
            await expectRefusal(StorageError.migrationFailed) {
                _ = try await launch().registerCatalog(new, migrationPolicy: .custom(Samples.Refusing()))
            }
        }
    }
}
