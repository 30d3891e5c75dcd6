import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData

/// Plans over catalogs whose entities are in several stores, in every arrangement of two.
@Suite(.inTurn) struct PlanStoreTests {
    /// Two stores that a catalog has its entities in.
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

    /// A program that copies, renames, changes and removes, within a store and from the first to the second.
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
            try await router.registerCatalog(catalog, migrationPolicy: .incremental(chain)).requireComplete()
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

    @Test(arguments: Pair.all) func `a plan over two stores ends as it says`(pair: Pair) async throws {
        let machine = TestMachine()
        let program = Program(pair: pair, ids: 300)
        try await program.fill(machine.launch())
        try await program.migrate(machine.launch())
        try await program.check(machine.launch())
        let again = try await machine.launch().registerCatalog(program.catalog, migrationPolicy: .incremental(program.chain))
        #expect(again.plan?.steps == [])
    }

    #if SQLite
        @Test(arguments: Pair.onDisk) func `a plan over two stores on disk ends as it says`(pair: Pair) async throws {
            try await Place.sealedDatabase.withLaunches { launch, _ in
                let program = Program(pair: pair)
                try await program.fill(launch())
                try await program.migrate(launch())
                try await program.check(launch())
            }
        }
    #endif

    #if SQLite && Keyring && os(Linux)
        @Test(.slow("every change costs a write of the keyring")) func `a plan over a real keyring and a database ends as it says`()
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
                try await router.registerCatalog(catalog, migrationPolicy: .incremental(program.chain)).requireComplete()
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
    func `a plan over two stores that was killed at any change goes on and ends as it says`(
        pair: Pair
    ) async throws {
        let program = Program(pair: pair, ids: 2)
        for domain in Set([pair.first, pair.second]) {
            for (index, fault) in [StorageFault.stop, .stopAfterwards, .loseAnswer, .unavailable, .locked].enumerated() {
                // Every change for the first two, and every fourth for what differs less.
                var number = index < 2 ? 0 : -index % 3 - 1
                while true {
                    number += index < 2 ? 1 : 4
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

    @Test(.slow("two programs meet at each of their changes"), arguments: Pair.all)
    func `of two programs that run a plan at once both end as it says`(pair: Pair) async throws {
        let program = Program(pair: pair, ids: 2)
        for domain in Set([pair.first, pair.second]) {
            var number = 0
            while number < 200 {
                number += 1
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

    /// Whether a run came to the gate before it ended.
    private static func first(_ arrival: Task<Void, Never>, _ running: Task<Void, any Error>) async -> Bool {
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

    // MARK: Names that were used before

    @Test(arguments: Pair.all) func `an entity is removed, and another gets its name`(pair: Pair) async throws {
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

    @Test(.slow("two programs meet at each of their changes"), arguments: Pair.all)
    func `a program that is late with a plan takes nothing that was written after it`(pair: Pair) async throws {
        func chain(_ second: SchemaPlan.EntityChange) -> MigrationChain {
            MigrationChain {
                ModelMigration("V1") { AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) } }
                ModelMigration("V2") { [second] }
                ModelMigration("V3") { AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) } }
            }
        }
        let changes = [RemoveEntity("a", in: pair.first).change, RenameEntity("a", to: "b", in: pair.first).change]
        for change in changes {
            var number = 0
            while number < 100 {
                number += 1
                let machine = TestMachine()
                // More than one page.
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

    // MARK: Another plan than the one that began

    private static func begun(_ name: String, at domain: StorageDomain) async throws -> TestMachine {
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["text": "1"]), in: documents("a", domain))
        try await machine.launch().set(record("1", ["text": "x"]), in: documents("c", domain))
        return machine
    }

    private static func models(_ second: @autoclosure () -> [SchemaPlan.EntityChange]) -> MigrationChain {
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

    @Test func `a plan that failed half way, in another order, skips nothing`() async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let machine = try await Self.begun("a", at: domain)
        let faulty = Self.models([
            RenameEntity("a", to: "b").change,
            UpdateEntity("b") { UpdateAttribute("text", to: "title") }.change,
            UpdateEntity("c") { UpdateAttribute("text", attributeType: .integer) }.change,
        ])
        let catalog = TestCatalog([.collection(documents("b", domain, version: 2)), .collection(documents("c", domain, version: 2))])
        // What is written meanwhile makes the step fail after its first part.
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

    @Test func `a plan that takes up what another began strands nothing`() async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let machine = try await Self.begun("a", at: domain)
        let wrong = Self.models([
            RenameEntity("a", to: "b").change,
            UpdateEntity("c") { UpdateAttribute("text", attributeType: .integer) { _ in throw Mishap() } }.change,
        ])
        let catalog = TestCatalog([.collection(documents("b", domain)), .collection(documents("c", domain, version: 2))])
        let failing = machine.launch()
        _ = try? await failing.value(for: textKey("any", domain))
        // The check is what finds it before anything is written; a record that comes meanwhile is met later.
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

    // MARK: Older programs

    private static let versions = [
        ModelMigration("V1") {
            AddEntity("a") { AddAttribute("id", attributeType: .string) }
        },
        ModelMigration("V2") { CopyEntity("a", to: "b") },
        ModelMigration("V3") {
            RemoveEntity("b")
            RenameEntity("a", to: "b")
            AddEntity("a") { AddAttribute("id", attributeType: .string) }
        },
    ]

    @Test(arguments: [0, 1, 2, 3]) func `an older program does not let a newer one repeat its steps`(way: Int) async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let machine = TestMachine()
        try await machine.launch().set(record("1"), in: documents("a", domain))
        func catalog(_ version: String) -> TestCatalog {
            TestCatalog(
                [.collection(documents("a", domain)), .collection(documents("b", domain))],
                CatalogSchema(version, entities: ["a", "b"].map { EntityDescription($0, texts("id")) }))
        }
        let chain = MigrationChain(Self.versions)
        try await machine.launch().registerCatalog(catalog("V3"), migrationPolicy: .incremental(chain))
        try await machine.launch().set(record("2"), in: documents("a", domain))
        let before = try await machine.launch().slots(domain, "a", "b")
        let older = MigrationChain(Array(Self.versions.prefix(2)))
        let policies: [MigrationPolicy] = [
            .lightweight, .incremental(older), .incremental(older, lightWeightBackup: true),
            .adHoc(migrations: [AdHocMigration("V1") { CopyEntity("a", to: "b") }], lightWeightBackup: true),
        ]
        await expectRefusal(StorageError.incompatibleSchema) {
            try await machine.launch().registerCatalog(catalog("V2"), migrationPolicy: policies[way])
        }
        #expect(try await machine.launch().slots(domain, "a", "b") == before)
        try await machine.launch().registerCatalog(catalog("V3"), migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("a", domain)) == ["2": record("2")])
        #expect(try await machine.launch().all(documents("b", domain)) == ["1": record("1")])
    }

    // MARK: Attributes that the plan does not know

    @Test func `a new name never takes the place of an attribute that the plan does not know`() async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("a") {
                    AddAttribute("id", attributeType: .string)
                    AddAttribute("text", attributeType: .string, optional: true)
                }
            }
            ModelMigration("V2") { UpdateEntity("a") { UpdateAttribute("text", to: "title") } }
        }
        let catalog = TestCatalog([.collection(documents("a", domain, version: 2))])
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["title": "kept"]), in: documents("a", domain))
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("a", domain, version: 2)) == ["1": record("1", ["title": "kept"])])
        let other = TestMachine()
        try await other.launch().set(record("1", ["title": "kept", "text": "moved"]), in: documents("a", domain))
        let error = try await #require(throws: StorageError.self, "one of the two is lost") {
            try await other.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        }
        #expect(error.code == StorageError.migrationFailed)
        for word in ["text", "title", "record 1"] { #expect(error.message.contains(word), "\(error)") }
        #expect(try await other.launch().all(documents("a", domain)) == ["1": record("1", ["title": "kept", "text": "moved"])])
    }

    // MARK: Places

    @Test func `what a plan says of a place is not forgotten by a later word, and not ignored`() async throws {
        let (first, second) = (StorageDomain.encryptedSQLite(database: "one"), StorageDomain.encryptedSQLite(database: "two"))
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("gone", in: first) { AddAttribute("id", attributeType: .string) }
                AddEntity("a") { AddAttribute("id", attributeType: .string) }
            }
            ModelMigration("V2") { RemoveEntity("gone", as: .collection, keepingBackup: false) }
        }
        let machine = TestMachine()
        try await machine.launch().set(record("1"), in: documents("gone", first))
        try await machine.launch().registerCatalog(TestCatalog([.collection(documents("a", second))]), migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("gone", first)).isEmpty)

        let elsewhere = MigrationChain {
            ModelMigration("V1") { AddEntity("a", in: first) { AddAttribute("id", attributeType: .string) } }
            ModelMigration("V2") { UpdateEntity("a") { AddAttribute("n", attributeType: .integer, default: 0) } }
        }
        let other = TestMachine()
        try await other.launch().set(record("1"), in: documents("a", first))
        let before = try await other.launch().slots(first, "a")
        let error = try await #require(throws: StorageError.self, "what the plan says of the place is ignored") {
            try await other.launch().registerCatalog(
                TestCatalog([.collection(documents("a", second, version: 2))]), migrationPolicy: .incremental(elsewhere))
        }
        #expect(error.code == StorageError.invalidEvolution)
        for word in ["ModelMigration V1", "AddEntity a", "\(first)", "\(second)"] { #expect(error.message.contains(word), "\(error)") }
        #expect(try await other.launch().slots(first, "a") == before)
    }

    @Test func `a copy to a place that protects less is refused before the first write`() async throws {
        let (sealed, plain) = (StorageDomain.encryptedSQLite(database: "one"), StorageDomain.userDefaults(suite: "one"))
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("a") { AddAttribute("id", attributeType: .string) }
                AddEntity("gone", in: sealed) { AddAttribute("id", attributeType: .string) }
            }
            ModelMigration("V2") {
                UpdateEntity("a") { AddAttribute("n", attributeType: .integer, default: 0) }
                CopyEntity("a", to: "b")
            }
        }
        for backup in [false, true] {
            let machine = TestMachine()
            try await machine.launch().set(record("1"), in: documents("a", sealed))
            let before = try await machine.launch().slots(sealed, "a")
            let catalog = TestCatalog([
                .collection(documents("a", sealed, version: 2)), .collection(documents("b", plain)), .collection(documents("gone", sealed)),
            ])
            let error = try await #require(throws: StorageError.self) {
                try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain, lightWeightBackup: backup))
            }
            #expect(error.code == StorageError.weakerProtection || error.code == StorageError.invalidEvolution, "\(error)")
            #expect(error.message.contains("b in"), "\(error)")
            #expect(try await machine.launch().slots(sealed, "a") == before)
        }
    }

    // MARK: What records carry

    @Test(arguments: Pair.all) func `a record keeps the time that it has left, and an expired one comes nowhere`(pair: Pair) async throws {
        let chain = MigrationChain {
            ModelMigration("V1") { AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) } }
            ModelMigration("V2") {
                CopyEntity("a", to: "b", in: pair.first)
                RenameEntity("a", to: "c", in: pair.first)
                UpdateEntity("b") { AddAttribute("n", attributeType: .integer, default: 0) }
            }
        }
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        try await machine.launch().set(record("short"), in: documents("a", pair.first).expiring(after: .seconds(60)))
        try await machine.launch().set(record("long"), in: documents("a", pair.first).expiring(after: .seconds(600)))
        clock.advance(by: .seconds(120))
        let catalog = TestCatalog([.collection(documents("b", pair.second, version: 2)), .collection(documents("c", pair.second))])
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        for collection in [documents("b", pair.second, version: 2), documents("c", pair.second)] {
            #expect(try await machine.launch().all(collection).keys.sorted() == ["long"])
            #expect(try await machine.launch().value(for: collection.key("long")) != nil)
        }
        let left = try await machine.launch().slots(pair.first, "a").keys.filter { $0.namespace.name == "collection:a" }
        #expect(left.isEmpty)
        clock.advance(by: .seconds(600))
        for collection in [documents("b", pair.second, version: 2), documents("c", pair.second)] {
            #expect(try await machine.launch().value(for: collection.key("long")) == nil)
        }
    }

    @Test func `a sealed value in a property list is changed, renamed and copied, and stays sealed`() async throws {
        let stage = try Stage()
        let domain = StorageDomain.userDefaults(suite: "main")
        func key(_ name: String, _ version: Int) -> StorageKey<[String: String]> {
            StorageKey<[String: String]>(name: name, domain: domain, security: .encrypted(), owner: "Plans", description: "A secret")
                .version(version)
        }
        let change = { (configuration: inout StorageConfiguration) in configuration.keySource = .keyFile("sealing.key") }
        let chain = MigrationChain {
            ModelMigration("V1") { AddEntity("old", as: .key) { AddAttribute("text", attributeType: .string) } }
            ModelMigration("V2") {
                CopyEntity("old", to: "copy", as: .key)
                RenameEntity("old", to: "new", as: .key)
                UpdateEntity("new") { UpdateAttribute("text", to: "title") }
                RemoveEntity("gone", as: .key, keepingBackup: true)
            }
        }
        let more = MigrationChain([
            ModelMigration("V1") {
                AddEntity("old", as: .key) { AddAttribute("text", attributeType: .string) }
                AddEntity("gone", as: .key) { AddAttribute("text", attributeType: .string) }
            }, chain.migrations[1],
        ])
        let first = stage.launch(change)
        try await first.set(["text": "s3cr3t-in-a-plan"], for: key("old", 1))
        try await first.set(["text": "s3cr3t-in-a-plan"], for: key("gone", 1))
        try await first.shutdown()
        let router = stage.launch(change)
        try await router.registerCatalog(
            TestCatalog([.key(key("new", 2)), .key(key("copy", 1))]), migrationPolicy: .incremental(more)
        ).requireComplete()
        #expect(try await router.get(key("new", 2)) == ["title": "s3cr3t-in-a-plan"])
        #expect(try await router.get(key("copy", 1)) == ["text": "s3cr3t-in-a-plan"])
        #expect(try await router.value(for: key("old", 1)) == nil)
        try await router.shutdown()
        #expect(try stage.traces(of: "s3cr3t-in-a-plan") == [])
    }

    @Test func `a value that another program wrote in a property list is changed in its place`() async throws {
        let stage = try Stage()
        let domain = StorageDomain.userDefaults(suite: "main")
        try stage.writePropertyList(["user": ["age": "20", "name": "x"]], suite: "main")
        let key = StorageKey<[String: String]>(name: "user", domain: domain, owner: "Plans", description: "The user").version(2)
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("user", as: .key) {
                    AddAttribute("age", attributeType: .string)
                    AddAttribute("name", attributeType: .string)
                }
            }
            ModelMigration("V2") { UpdateEntity("user") { UpdateAttribute("name", to: "title") } }
        }
        let router = stage.launch()
        try await router.registerCatalog(TestCatalog([.key(key)]), migrationPolicy: .incremental(chain)).requireComplete()
        #expect(try await router.get(key) == ["age": "20", "title": "x"])
        try await router.shutdown()
    }

    // MARK: Faulty plans

    @Test(arguments: Pair.all) func `a faulty plan is refused before the first write, in every arrangement`(pair: Pair) async throws {
        let program = Program(pair: pair)
        let faults: [(name: String, change: SchemaPlan.EntityChange)] = [
            ("UpdateEntity strangers", UpdateEntity("strangers", in: pair.first) { RemoveAttribute("text") }.change),
            ("UpdateAttribute old", UpdateEntity("archive") { UpdateAttribute("old", attributeType: .date) }.change),
            ("AddEntity persons", AddEntity("persons").change),
        ]
        let migrations = program.chain.migrations
        var plans: [(String, MigrationPolicy)] = faults.map { fault in
            let last = ModelMigration("V3") { migrations[2].changes + [fault.change] }
            return (fault.name, .incremental(MigrationChain([migrations[0], migrations[1], last])))
        }
        plans.append(("circle", .incremental(MigrationChain(migrations + [migrations[0]]))))
        plans.append(("gap", .incremental(MigrationChain(Array(migrations.prefix(2))))))
        plans.append(
            (
                "two plans",
                .composite(
                    adHoc: [
                        AdHocMigration("V2") { migrations[2].changes }, AdHocMigration(from: "V2", to: "V3") { migrations[2].changes },
                    ],
                    chain: program.chain)
            ))
        let machine = TestMachine()
        try await program.fill(machine.launch())
        func slots() async throws -> [StorageAddress: StorageProbe] {
            let names = ["notes", "people", "useless", "archive", "persons"].map { "collection:\($0)" }
            return try await machine.launch().slots(pair.first, also: names)
                .merging(try await machine.launch().slots(pair.second, also: names)) { $1 }
        }
        let before = try await slots()
        for (word, policy) in plans {
            let error = try await #require(throws: StorageError.self, "nothing was thrown: \(word)") {
                try await machine.launch().registerCatalog(program.catalog, migrationPolicy: policy)
            }
            #expect(error.code == StorageError.invalidEvolution, "\(error)")
            #expect(error.message.contains(word), "\(error)")
            #expect(try await slots() == before, "\(word)")
        }
    }
}
