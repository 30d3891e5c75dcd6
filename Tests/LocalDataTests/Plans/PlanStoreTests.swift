import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Tests of migration plans, which are lists of schema changes. The entities (collections and keys) of a catalog are in
/// two stores, for several pairs of stores.
@Suite(.inTurn) struct PlanStoreTests {
    /// The two stores of a catalog.
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let first: StorageDomain
        let second: StorageDomain

        static let all = [
            Pair(
                testDescription: "two databases", first: .encryptedSQLite(database: "one"), second: .encryptedSQLite(database: "two")),
            Pair(
                testDescription: "a property list and a database", first: .userDefaults(suite: "one"),
                second: .encryptedSQLite(database: "two")),
            Pair(testDescription: "a keyring and a database", first: .keychain(service: "one"), second: .encryptedSQLite(database: "two")),
            Pair(testDescription: "a property list and a keyring", first: .userDefaults(suite: "one"), second: .keychain(service: "two")),
            Pair(testDescription: "one keyring", first: .keychain(service: "one"), second: .keychain(service: "one")),
            Pair(
                testDescription: "one database", first: .encryptedSQLite(database: "one"), second: .encryptedSQLite(database: "one")),
        ]
        static let onDisk = Array(all.filter { $0.first.kind != .keychain && $0.second.kind != .keychain })
    }

    /// A program whose plan copies, renames, changes and removes entities, within a store and from the first to the
    /// second.
    struct Program {
        let pair: Pair
        var ids = 3

        var chain: MigrationChain {
            MigrationChain {
                ModelMigration("V1") {
                    for name in ["notes", "people", "useless"] {
                        AddEntity(name, in: name == "people" ? pair.first : nil) {
                            AddAttribute("id", attributeType: .string)
                            AddAttribute("text", attributeType: .string)
                        }
                    }
                    AddEntity("user", in: pair.first, as: .key) { AddAttribute("age", attributeType: .string) }
                }
                ModelMigration("V2") {
                    CopyEntity("notes", to: "archive")
                    UpdateEntity("notes") { UpdateAttribute("text", to: "title") }
                    UpdateEntity("archive") { AddAttribute("old", attributeType: .boolean, default: true) }
                    RenameEntity("people", to: "persons", in: pair.first)
                    RemoveEntity("useless", in: pair.first)
                }
                ModelMigration("V3") {
                    UpdateEntity("persons") {
                        UpdateAttribute("text", to: "name")
                    }
                    RenameEntity("user", to: "profile", in: pair.first, as: .key)
                    UpdateEntity("profile") { UpdateAttribute("age", attributeType: .integer) }
                }
            }
        }

        var profile: StorageKey<[String: Int]> {
            StorageKey<[String: Int]>(name: "profile", domain: pair.second, owner: "Plans", description: "The user").version(2)
        }

        var catalog: TestCatalog {
            TestCatalog(
                [
                    .collection(documents("notes", pair.first, version: 2)), .collection(documents("archive", pair.second, version: 2)),
                    .collection(documents("persons", pair.second, version: 2)), .key(profile),
                ],
                CatalogSchema(
                    "V3",
                    entities: [
                        EntityDescription("notes", texts("id", "title")),
                        EntityDescription("archive", texts("id", "text") + [AttributeDescription("old", .boolean)]),
                        EntityDescription("persons", texts("id", "name")),
                        EntityDescription("profile", [AttributeDescription("age", .integer)]),
                    ]))
        }

        func fill(_ router: StorageRouter) async throws {
            for name in ["notes", "people", "useless"] {
                for id in 0..<ids {
                    try await router.set(record("\(id)", ["text": .string("\(name) \(id)")]), in: documents(name, pair.first))
                }
            }
            let user = StorageKey<[String: String]>(name: "user", domain: pair.first, owner: "Plans", description: "The user")
            try await router.set(["age": "20"], for: user)
        }

        func migrate(_ router: StorageRouter) async throws {
            try await router.registerCatalog(catalog, migrationPolicy: .incremental(chain)).sweep.requireComplete()
        }

        func check(_ router: StorageRouter, _ place: String = "") async throws {
            let notes = try await router.all(documents("notes", pair.first, version: 2))
            let archive = try await router.all(documents("archive", pair.second, version: 2))
            let persons = try await router.all(documents("persons", pair.second, version: 2))
            for id in 0..<ids {
                #expect(notes["\(id)"] == record("\(id)", ["title": .string("notes \(id)")]), "\(place)")
                #expect(archive["\(id)"] == record("\(id)", ["text": .string("notes \(id)"), "old": true]), "\(place)")
                #expect(persons["\(id)"] == record("\(id)", ["name": .string("people \(id)")]), "\(place)")
            }
            #expect(notes.count == ids && archive.count == ids && persons.count == ids, "\(place)")
            #expect(try await router.get(profile) == ["age": 20], "\(place)")
            for name in ["people", "useless"] {
                #expect(try await router.all(documents(name, pair.first)).isEmpty, "\(place)")
            }
            let backups = try await router.slots(pair.first, also: ["backup:1:collection:useless"])
            let kept = backups.keys.filter { $0.namespace.name == "backup:1:collection:useless" }
            #expect(kept.count == ids, "\(place)")
        }
    }

    @Test(arguments: Pair.all)
    func `a plan over two stores copies, renames, changes and removes entities as declared`(pair: Pair) async throws {
        let machine = TestMachine()
        let program = Program(pair: pair, ids: 300)
        try await program.fill(machine.launch())
        try await program.migrate(machine.launch())
        try await program.check(machine.launch())
        let again = try await machine.launch().registerCatalog(program.catalog, migrationPolicy: .incremental(program.chain))
        #expect(again.plan.steps == [])
    }

    #if SQLite
        @Test(arguments: Pair.onDisk)
        func `on disk, a plan over two stores copies, renames, changes and removes entities as declared`(pair: Pair) async throws {
            try await Place.sealedDatabase.withLaunches { launch, _ in
                let program = Program(pair: pair)
                try await program.fill(launch())
                try await program.migrate(launch())
                try await program.check(launch())
            }
        }
    #endif

    #if SQLite && Keyring && os(Linux)
        @Test(.slow("every change costs a write of the keyring"))
        func `a plan over a keyring and a database copies, renames, changes and removes entities as declared`()
            async throws
        {
            let stage = try Stage(keyring: true)
            let change = { (configuration: inout StorageConfiguration) in configuration.keySource = .keyFile("sealing.key") }
            let second = StorageDomain.keychain(service: stage.service)
            for first in [StorageDomain.encryptedSQLite(database: "two"), second] {
                let program = Program(pair: Pair(testDescription: "", first: first, second: second))
                var catalog = program.catalog
                catalog.id = "plans in \(first.kind)"
                let router = stage.launch(change)
                try await program.fill(router)
                try await router.registerCatalog(catalog, migrationPolicy: .incremental(program.chain)).sweep.requireComplete()
                let later = stage.launch(change)
                try await program.check(later)
                for collection in ["notes", "archive", "persons"] {
                    for domain in [program.pair.first, second] {
                        for id in 0..<program.ids { try await later.remove(documents(collection, domain, version: 2).key("\(id)")) }
                    }
                }
                try await later.remove(program.profile)
                for place in [router, later] { try await place.shutdown() }
            }
        }
    #endif

    // MARK: Killed

    @Test(.slow("a plan is killed at each of its changes"), arguments: Pair.all)
    func `if the program is killed or a store fails at any commit of a plan over two stores, the next launch completes the plan`(
        pair: Pair
    ) async throws {
        let program = Program(pair: pair, ids: 2)
        for domain in Set([pair.first, pair.second]) {
            for (index, fault) in [StorageFault.stop, .stopAfterwards, .loseAnswer, .unavailable, .locked].enumerated() {
                // The test injects the fault at some of the changes: at every fifth for the first two faults, which
                // stop the program, and at every twentieth for the others. A long search (with the variable
                // `LOCALDATA_LAWS`) injects it at each change.
                let step = max(1, Int(Double(index < 2 ? 5 : 20) / LawSettings().factor))
                var number = -index % step
                while true {
                    number += step
                    let machine = TestMachine()
                    try await program.fill(machine.launch())
                    let killed = machine.launch()
                    _ = try? await killed.value(for: textKey("any", domain))
                    for backend in machine.backends(of: domain).suffix(1) { backend.inject(fault, at: number, of: .apply) }
                    let place = "\(domain), \(fault) at \(number)"
                    do {
                        try await program.migrate(killed)
                        if machine.backends(of: domain).last?.log.contains(where: { !$0.faults.isEmpty }) != true { break }
                    } catch {}
                    machine.cut()
                    do {
                        try await program.migrate(machine.launch())
                        try await program.check(machine.launch(), place)
                    } catch {
                        Issue.record("\(place): \(error)")
                        break
                    }
                    if number > 200 { break }
                }
            }
        }
    }

    // MARK: Two programs

    @Test(.slow("one program is paused at each change while another one runs"), arguments: Pair.all)
    func `two programs that run the same plan at the same time both complete it`(pair: Pair) async throws {
        let program = Program(pair: pair, ids: 2)
        for domain in Set([pair.first, pair.second]) {
            // The test pauses the program at some of its changes. A long search (`LOCALDATA_LAWS`) pauses it at each
            // change.
            let step = max(1, Int(3 / LawSettings().factor))
            var number = 1 - step
            while number < 200 {
                number += step
                let machine = TestMachine()
                try await program.fill(machine.launch())
                let slow = machine.launch()
                _ = try? await slow.value(for: textKey("any", domain))
                let gate = FaultGate()
                guard let backend = machine.backends(of: domain).last else { break }
                backend.inject(.hold(gate), at: number, of: .apply)
                let running = Task { try await program.migrate(slow) }
                let arrival = Task { await gate.untilArrivals() }
                let isHeld = await Self.first(arrival, running)
                let place = "\(domain), held at \(number)"
                if !isHeld {
                    try await running.value
                    gate.open()
                    break
                }
                do { try await program.migrate(machine.launch()) } catch { Issue.record("the fast one, \(place): \(error)") }
                gate.open()
                do { try await running.value } catch { Issue.record("the slow one, \(place): \(error)") }
                try await program.check(machine.launch(), place)
            }
        }
    }

    /// Returns true if `arrival` ends first: the run waits at the gate of the test. Returns false if the run ends
    /// first.
    static func first(_ arrival: Task<Void, Never>, _ running: Task<Void, any Error>) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            let gate = AsyncStream<Bool>.makeStream()
            Task {
                await arrival.value
                gate.continuation.yield(true)
            }
            Task {
                _ = await running.result
                gate.continuation.yield(false)
            }
            for await isHeld in gate.stream { return isHeld }
            return false
        }
    }
}
