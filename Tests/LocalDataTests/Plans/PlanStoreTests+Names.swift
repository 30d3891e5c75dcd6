import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Plans that reuse the name of an earlier entity, and plans that continue after another plan has failed.
extension PlanStoreTests {
    // MARK: Names that were used before

    @Test(arguments: Pair.all) func `a plan can give the name of a removed entity to another entity`(pair: Pair) async throws {
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) }
                AddEntity("b", in: pair.first) { AddAttribute("id", attributeType: .string) }
            }
            ModelMigration("V2") {
                RemoveEntity("a", in: pair.first)
                RenameEntity("b", to: "a", in: pair.first)
            }
            ModelMigration("V3") {
                RemoveEntity("a", in: pair.first)
                AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) }
            }
        }
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["from": "a"]), in: documents("a", pair.first))
        try await machine.launch().set(record("1", ["from": "b"]), in: documents("b", pair.first))
        let catalog = TestCatalog([.collection(documents("a", pair.first)), .collection(documents("c", pair.second))])
        let second = MigrationChain(Array(chain.migrations.prefix(2)))
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(second))
        #expect(try await machine.launch().all(documents("a", pair.first)) == ["1": record("1", ["from": "b"])])
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("a", pair.first)).isEmpty)
        let launched = machine.launch()
        try await launched.registerCatalog(catalog, migrationPolicy: .incremental(chain))
        try await launched.set(record("2"), in: documents("a", pair.first))
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("a", pair.first)) == ["2": record("2")])
    }

    @Test(.slow("one program is paused at each change while another one runs"), arguments: Pair.all)
    func `a paused program that finishes its plan late does not change records that were set after another program had finished it`(
        pair: Pair
    ) async throws {
        func chain(_ second: SchemaPlan.EntityChange) -> MigrationChain {
            MigrationChain {
                ModelMigration("V1") { AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) } }
                ModelMigration("V2") { [second] }
                ModelMigration("V3") { AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) } }
            }
        }
        let changes = [RemoveEntity("a", in: pair.first).change, RenameEntity("a", to: "b", in: pair.first).change]
        for change in changes {
            // The test pauses the program at some of its changes. A long search (`LOCALDATA_LAWS`) pauses it at each
            // change.
            let step = max(1, Int(3 / LawSettings().factor))
            var number = 1 - step
            while number < 100 {
                number += step
                let machine = TestMachine()
                // Two records, so that the plan changes more than one.
                for id in 0..<2 { try await machine.launch().set(record("\(id)"), in: documents("a", pair.first)) }
                let catalog = TestCatalog([.collection(documents("a", pair.first)), .collection(documents("b", pair.second))])
                let policy = MigrationPolicy.incremental(chain(change))
                let slow = machine.launch()
                _ = try? await slow.value(for: textKey("any", pair.first))
                let gate = FaultGate()
                machine.backends(of: pair.first).last?.inject(.hold(gate), at: number)
                let running = Task { _ = try await slow.registerCatalog(catalog, migrationPolicy: policy) }
                let arrival = Task { await gate.untilArrivals() }
                guard await Self.first(arrival, running) else {
                    gate.open()
                    try await running.value
                    break
                }
                let fast = machine.launch()
                try await fast.registerCatalog(catalog, migrationPolicy: policy)
                try await fast.set(record("new"), in: documents("a", pair.first))
                gate.open()
                let place = "\(change.spelling), held at \(number)"
                do { try await running.value } catch { Issue.record("\(place): \(error)") }
                #expect(try await machine.launch().all(documents("a", pair.first)) == ["new": record("new")], "\(place)")
            }
        }
    }

    // MARK: A different plan after a partly applied plan

    static func begun(_ name: String, at domain: StorageDomain) async throws -> TestMachine {
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["text": "1"]), in: documents("a", domain))
        try await machine.launch().set(record("1", ["text": "x"]), in: documents("c", domain))
        return machine
    }

    static func models(_ second: @autoclosure () -> [SchemaPlan.EntityChange]) -> MigrationChain {
        MigrationChain([
            ModelMigration("V1") {
                for name in ["a", "c"] {
                    AddEntity(name) {
                        AddAttribute("id", attributeType: .string)
                        AddAttribute("text", attributeType: .string)
                    }
                }
            },
            ModelMigration("V2", { SchemaPlan.EntityChanges.buildExpression(second()) }),
        ])
    }

    @Test func `if a plan was partly applied, a corrected plan with the changes in another order applies all of them or is refused`()
        async throws
    {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let machine = try await Self.begun("a", at: domain)
        let faulty = Self.models([
            RenameEntity("a", to: "b").change,
            UpdateEntity("b") { UpdateAttribute("text", to: "title") }.change,
            UpdateEntity("c") { UpdateAttribute("text", attributeType: .integer) }.change,
        ])
        let catalog = TestCatalog([.collection(documents("b", domain, version: 2)), .collection(documents("c", domain, version: 2))])
        // The backend fails from its fourth change on, so the step fails after it has applied some of its changes.
        let failing = machine.launch()
        _ = try? await failing.value(for: textKey("any", domain))
        machine.backends(of: domain).last?.inject(.fail(BackendError(.init("test"), "out of order")), at: 4, of: .apply, repeats: true)
        await #expect(throws: (any Error).self) { try await failing.registerCatalog(catalog, migrationPolicy: .incremental(faulty)) }
        let corrected = Self.models([
            UpdateEntity("c") { UpdateAttribute("text", to: "title") }.change,
            RenameEntity("a", to: "b").change,
            UpdateEntity("b") { UpdateAttribute("text", to: "title") }.change,
        ])
        do {
            try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(corrected))
            #expect(try await machine.launch().all(documents("b", domain, version: 2)) == ["1": record("1", ["title": "1"])])
            #expect(try await machine.launch().all(documents("c", domain, version: 2)) == ["1": record("1", ["title": "x"])])
        } catch let error as StorageError {
            #expect(error.code == StorageError.invalidEvolution, "\(error)")
            #expect(error.message.contains("RenameEntity a to b"), "\(error)")
        }
    }

    @Test func `a plan that runs after a different, partly applied plan loses no records`() async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let machine = try await Self.begun("a", at: domain)
        let wrong = Self.models([
            RenameEntity("a", to: "b").change,
            UpdateEntity("c") { UpdateAttribute("text", attributeType: .integer) { _ in throw Mishap() } }.change,
        ])
        let catalog = TestCatalog([.collection(documents("b", domain)), .collection(documents("c", domain, version: 2))])
        let failing = machine.launch()
        _ = try? await failing.value(for: textKey("any", domain))
        // The program stops after its second change, so the plan has begun and is not complete.
        machine.backends(of: domain).last?.inject(.stopAfterwards, at: 2, of: .apply)
        let begins = Self.models([
            RenameEntity("a", to: "b").change, UpdateEntity("c") { UpdateAttribute("text", to: "title") }.change,
        ])
        await #expect(throws: (any Error).self) { try await failing.registerCatalog(catalog, migrationPolicy: .incremental(begins)) }
        await expectRefusal(StorageError.migrationFailed) {
            try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(wrong))
        }
        let other = Self.models([RenameEntity("a", to: "z").change, UpdateEntity("c") { UpdateAttribute("text", to: "title") }.change])
        let renamed = TestCatalog([.collection(documents("z", domain)), .collection(documents("c", domain, version: 2))])
        do {
            try await machine.launch().registerCatalog(renamed, migrationPolicy: .incremental(other))
            #expect(try await machine.launch().all(documents("z", domain)).count == 1)
        } catch let error as StorageError {
            #expect(error.code == StorageError.invalidEvolution, "\(error)")
            #expect(error.message.contains("RenameEntity a to b"), "\(error)")
            #expect(try await machine.launch().all(documents("b", domain)).count == 1)
        }
    }
}
