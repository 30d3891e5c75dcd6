import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Release windows of collections. A release window is the time in which two releases of a program may run on one
/// machine. Version 1 uses the legacy collection, and version 2 uses the new collection.
///
/// Version 2 also writes a copy of each record, the mirror, to the legacy collection.
///
/// A sweep migrates the values of all keys and collections of a catalog. A tombstone is the record of a removal. A
/// conflict exists if both versions have changed a record without having seen the other's change.
@Suite struct CollectionWindowTests {
    /// A new collection with a release window, and the legacy collection that receives the mirrors.
    private struct World: Sendable {
        let way: WindowWorld.Way
        let machine: TestMachine
        let old: StorageCollection<Note>
        let notes: StorageCollection<Note>

        init(
            _ way: WindowWorld.Way, _ policy: ConflictPolicy<Note> = .destinationWins, keeping window: ReleaseWindow = .untilReleased,
            _ clock: TestClock? = nil
        ) {
            self.way = way
            machine = TestMachine { if let clock { $0.use(clock) } }
            old = Note.collection("old", way.old)
            notes = Note.collection(way.new)
                .moved(from: old, keeping: window, options: MigrationOptions(keepsWeakerCopy: true)).resolvingConflicts(policy)
        }

        /// The sorted texts of a collection. Checks that records, count and single values agree.
        func texts(_ collection: StorageCollection<Note>, _ router: StorageRouter) async throws -> [String] {
            var found: [String] = []
            for try await note in router.records(in: collection, onDamage: .skip) { found.append("\(note.id): \(note.text)") }
            #expect(try await router.count(in: collection) == found.count)
            for note in found {
                let id = String(note.prefix { $0 != ":" })
                #expect(try await router.value(id, in: collection).map { "\(id): \($0.text)" } == note)
            }
            return found.sorted()
        }

        /// Sweeps three times, which completes every migration, and returns the collection's row in the last report.
        @discardableResult
        func settle(_ router: StorageRouter) async throws -> MigrationReport.Row {
            for _ in 0..<2 { _ = try await router.row(of: notes) }
            return try #require(try await router.row(of: notes))
        }

        /// Returns what is left in the legacy store: records, tombstones and window marks.
        ///
        /// A window mark is a tombstone in the namespace `window:`. It names the record whose mirror version 2 wrote.
        func left() async throws -> [String] {
            let v1 = machine.launch()
            _ = try await v1.value("none", in: old)
            let backend = try #require(machine.backends(of: way.old).last)
            var found: [String] = []
            for namespace in ["collection:old", "window:collection:old"] {
                found += try await backend.addresses(in: StorageNamespace(namespace)).map { "\(namespace): \($0.name)" }
            }
            return found.sorted()
        }

        /// The number of slots of the new collection, including tombstones.
        func slots() async throws -> Int {
            try await machine.backends(of: way.new)[0].addresses(in: StorageNamespace("collection:notes")).count
        }
    }

    private static func note(_ id: String, _ text: String) -> Note { Note(id: id, text: text) }

    @Test(arguments: WindowWorld.Way.allCases) func `two releases that take turns always read the latest records`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        for id in ["a", "b", "c"] { try await v1.set(Self.note(id, "one"), in: world.old) }
        #expect(try await world.texts(world.notes, v2) == ["a: one", "b: one", "c: one"])
        #expect(try await world.texts(world.old, v1) == ["a: one", "b: one", "c: one"])
        try await v2.set(Self.note("a", "two"), in: world.notes)
        try await v2.set(Self.note("d", "two"), in: world.notes)
        try await v2.remove("b", in: world.notes)
        #expect(try await world.texts(world.old, v1) == ["a: two", "c: one", "d: two"])
        try await v1.set(Self.note("a", "three"), in: world.old)
        try await v1.set(Self.note("e", "three"), in: world.old)
        try await v1.remove("c", in: world.old)
        #expect(try await world.texts(world.notes, v2) == ["a: three", "d: two", "e: three"])
        #expect(try await world.texts(world.old, v1) == ["a: three", "d: two", "e: three"])
        #expect(try await world.settle(v2).state == .mirrored)
        try await v1.set(Self.note("b", "four"), in: world.old)
        #expect(try await v2.value("b", in: world.notes)?.text == "four")
        #expect(try await v2.update("d", in: world.notes) { $0?.text = "five" } == ())
        #expect(try await v1.value("d", in: world.old)?.text == "five")
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a count or enumeration by version 2 includes the latest changes by version 1`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        for note in Note.many(5) { try await v2.set(note, in: world.notes) }
        #expect(try await v2.count(in: world.notes) == 5)
        try await v1.remove("n1", in: world.old)
        #expect(try await v2.count(in: world.notes) == 4)
        try await v1.set(Self.note("n2", "changed"), in: world.old)
        #expect(try await v2.everything(in: world.notes).records.map(\.text).sorted() == ["changed", "text 0", "text 3", "text 4"])
        #expect(try await v2.row(of: world.notes)?.state == .mirrored)
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a sweep resolves a conflict between the records of two releases by the conflict policy`(
        _ way: WindowWorld.Way
    ) async throws {
        for (policy, winner) in [(ConflictPolicy<Note>.destinationWins, "two"), (.sourceWins, "three")] {
            let world = World(way, policy)
            let (v1, v2) = (world.machine.launch(), world.machine.launch())
            try await v1.set(Self.note("a", "one"), in: world.old)
            _ = try await v2.count(in: world.notes)
            // Version 2 cannot write the mirror of this value, and version 1 overwrites the previous mirror.
            let backend = try #require(world.machine.backends(of: way.old).last)
            backend.inject(.unavailable, of: .apply, repeats: true)
            try await v2.set(Self.note("a", "two"), in: world.notes)
            try await v1.set(Self.note("a", "three"), in: world.old)
            #expect(try await world.texts(world.notes, v2) == ["a: two"])
            #expect(try await world.texts(world.old, v1) == ["a: three"])
            backend.removeFaults()
            #expect(try await v2.row(of: world.notes)?.state == .resolved)
            #expect(try await world.texts(world.notes, v2) == ["a: \(winner)"])
            #expect(try await world.texts(world.old, v1) == ["a: \(winner)"])
            #expect(try await v2.audit().quarantine.count == 1)
        }
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a sweep reports pending while the mirror of a record cannot be written, and a later sweep writes the mirror`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.set(Self.note("a", "one"), in: world.notes)
        let backend = try #require(world.machine.backends(of: way.old).last)
        backend.inject(.unavailable, of: .apply, repeats: true)
        try await v2.set(Self.note("a", "two"), in: world.notes)
        #expect(try await world.texts(world.notes, v2) == ["a: two"])
        #expect(try await world.texts(world.old, v1) == ["a: one"])
        let row = try #require(try await v2.row(of: world.notes))
        #expect(row.state == .pending)
        #expect(row.errorCode == .unavailable)
        backend.removeFaults()
        #expect(try await v2.row(of: world.notes)?.state == .mirrored)
        #expect(try await world.texts(world.old, v1) == ["a: two"])
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a mirror has the attributes, the sync status and the creation date of its record`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.set(Self.note("a", "one"), in: world.notes, syncStatus: .syncing, attributes: ["folder": "inbox"])
        let before = try #require(try await v2.storedValue("a", in: world.notes))
        let older = try #require(try await v1.storedValue("a", in: world.old))
        #expect(older.attributes["folder"] == "inbox")
        #expect(older.syncStatus == .syncing)
        #expect(older.createdAt == before.createdAt)
        try await v1.set(Self.note("a", "two"), in: world.old)
        let after = try #require(try await v2.storedValue("a", in: world.notes))
        #expect(after.value.text == "two")
        #expect(after.attributes["folder"] == "inbox")
        #expect(after.createdAt == before.createdAt)
    }

    // MARK: The end

    private enum End: CaseIterable { case call, request, version, dropped }

    @Test(arguments: WindowWorld.Way.allCases, End.allCases)
    private func `the end of the window empties the legacy collection, and later changes are not mirrored`(
        _ way: WindowWorld.Way, _ end: End
    ) async throws {
        let world = World(way, keeping: end == .version ? .until(version: "3.0") : .untilReleased)
        let (v1, v2) = (world.machine.launch(), world.machine.launch(version: "2.0"))
        for note in Note.many(3) { try await v2.set(note, in: world.notes) }
        try await v2.remove("n1", in: world.notes)
        try await v1.set(Self.note("n2", "of version 1"), in: world.old)
        var v3 = v2
        switch end {
        case .call: _ = try await v2.endReleaseWindow(in: world.notes)
        case .request:
            try await world.machine.launch().requestReleaseWindowEnd(in: world.notes)
            _ = try await v2.row(of: world.notes)
        case .version:
            v3 = world.machine.launch(version: "3.0")
            _ = try await v3.row(of: world.notes)
        case .dropped:
            v3 = world.machine.launch()
            _ = try await v3.row(of: Note.collection(way.new).moved(from: world.old))
        }
        #expect(try await world.left() == [])
        #expect(try await world.texts(world.notes, v3) == ["n0: text 0", "n2: of version 1"])
        if end == .dropped { return }
        // A program that still declares the window writes no mirror of a changed or new record.
        try await v2.set(Self.note("n0", "changed"), in: world.notes)
        try await v2.set(Self.note("new", "record"), in: world.notes)
        _ = try await v2.row(of: world.notes)
        #expect(try await world.left() == [])
        #expect(try await world.texts(world.notes, v2) == ["n0: changed", "n2: of version 1", "new: record"])
        #expect(try await world.machine.quarantine(v2) == [])
    }

    @Test(arguments: WindowWorld.Way.allCases, [true, false])
    func `if the window of an empty collection has ended, records that are set later are not mirrored`(
        _ way: WindowWorld.Way, _ isRequested: Bool
    ) async throws {
        let world = World(way)
        let v2 = world.machine.launch()
        if isRequested {
            try await world.machine.launch().requestReleaseWindowEnd(in: world.notes)
            _ = try await v2.row(of: world.notes)
        } else {
            try await v2.endReleaseWindow(in: world.notes)
        }
        for (id, router) in [("a", v2), ("b", world.machine.launch())] { try await router.set(Self.note(id, "one"), in: world.notes) }
        #expect(try await world.left() == [])
        _ = try await v2.row(of: world.notes)
        #expect(try await world.left() == [])
        #expect(try await world.texts(world.notes, v2) == ["a: one", "b: one"])
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a window of 30 days ends for all records together, counted from the first record`(
        _ way: WindowWorld.Way
    ) async throws {
        let clock = TestClock()
        let world = World(way, keeping: .for(days: 30), clock)
        let v2 = world.machine.launch()
        try await v2.set(Self.note("a", "one"), in: world.notes)
        clock.pass(.seconds(29 * 86_400))
        try await v2.set(Self.note("b", "two"), in: world.notes)
        #expect(try await v2.row(of: world.notes)?.state == .mirrored)
        clock.pass(.seconds(2 * 86_400))
        #expect(try await v2.row(of: world.notes)?.state == .mirrored)
        #expect(try await world.left().count == 4)
        clock.pass(.seconds(86_401))
        _ = try await v2.row(of: world.notes)
        #expect(try await world.left() == [])
        #expect(try await world.texts(world.notes, v2) == ["a: one", "b: two"])
    }

    @Test(.slow("goes through real files many times"), arguments: WindowWorld.Way.allCases)
    func `if endReleaseWindow is interrupted, the next call ends the window completely`(
        _ way: WindowWorld.Way
    ) async throws {
        for place in [way.new, way.old] {
            for fault in [StorageFault.stop, .stopAfterwards, .loseAnswer] {
                for number in 1...8 {
                    let world = World(way)
                    let v2 = world.machine.launch()
                    for note in Note.many(3) { try await v2.set(note, in: world.notes) }
                    try await v2.remove("n1", in: world.notes)
                    try #require(world.machine.backends(of: place).first).inject(fault, at: number, of: .apply)
                    _ = try? await v2.endReleaseWindow(in: world.notes)
                    world.machine.cut()
                    let next = world.machine.launch()
                    try await next.endReleaseWindow(in: world.notes)
                    #expect(try await world.left() == [], "\(fault) at \(number) in \(place)")
                    #expect(try await world.texts(world.notes, next) == ["n0: text 0", "n2: text 2"], "\(fault) at \(number) in \(place)")
                }
            }
        }
    }

    // MARK: Removed records

    @Test func `tombstones, the records of removals, stay during the window and are dropped after its end`() async throws {
        for way in [WindowWorld.Way.listToList, .listToDatabase] {
            let world = World(way)
            let v2 = world.machine.launch()
            try await v2.set(Self.note("a", "one"), in: world.notes)
            try await v2.remove("a", in: world.notes)
            try await world.settle(v2)
            #expect(try await world.slots() == 1)
            try await v2.endReleaseWindow(in: world.notes)
            try await world.settle(v2)
            #expect(try await world.slots() == 0)
        }
    }

    @Test(arguments: [true, false]) func `a delayed write of a mirror does not restore a removed record, even if the tombstone was dropped`(
        _ ends: Bool
    ) async throws {
        let world = World(.listToList)
        let (slow, fast) = (world.machine.launch(), world.machine.launch())
        _ = try await slow.value("none", in: world.notes)
        let gate = FaultGate()
        try #require(world.machine.backends(of: world.way.old).first).inject(.hold(gate), of: .apply)
        async let change: Void = slow.set(Self.note("a", "removed"), in: world.notes)
        await gate.untilArrivals()
        try await fast.remove("a", in: world.notes)
        if ends { try await fast.endReleaseWindow(in: world.notes) }
        try await world.settle(fast)
        #expect(try await world.slots() == (ends ? 0 : 1))
        gate.open()
        try await change
        for router in [fast, slow, fast] {
            try await world.settle(router)
            #expect(try await world.texts(world.notes, router) == [])
        }
        #expect(try await world.left().filter { !$0.hasPrefix("window:") } == (ends ? [] : ["collection:old: a"]))
    }

    // MARK: Shapes, plans and what is refused

    private struct Titled: Codable, Equatable, Sendable, Identifiable {
        var id: String
        var title: String
        var stars: Int
    }

    @Test func `with a merge closure, a change by version 1 keeps the fields that the older type does not have`() async throws {
        let machine = TestMachine()
        let old = Note.collection("old", .userDefaults(suite: "old"))
        let titled = StorageCollection<Titled>("titled", domain: .encryptedSQLite(database: "new"), owner: "Tests", description: "Notes")
            .moved(from: old, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true)) {
                Titled(id: $0.id, title: $0.text, stars: 0)
            } down: {
                Note(id: $0.id, text: $0.title)
            } merge: { older, newer in
                Titled(id: older.id, title: older.title, stars: newer.stars)
            }
        let (v1, v2) = (machine.launch(), machine.launch())
        try await v2.set([Titled(id: "a", title: "one", stars: 5), Titled(id: "b", title: "two", stars: 3)], in: titled)
        #expect(try await v1.everything(in: old).records.map(\.text).sorted() == ["one", "two"])
        try await v1.set(Note(id: "a", text: "changed"), in: old)
        #expect(try await v2.everything(in: titled).records.sorted { $0.id < $1.id }.map(\.stars) == [5, 3])
        #expect(try await v2.value("a", in: titled)?.title == "changed")
    }

    @Test func `the check of a catalog reports a window that changes the shape of records in their own collection`() async throws {
        let router = TestMachine().launch()
        let domain = StorageDomain.userDefaults(suite: "new")
        let titled = StorageCollection<Titled>("notes", domain: domain, owner: "Tests", description: "Notes")
            .moved(from: Note.collection(domain), keeping: .untilReleased) {
                Titled(id: $0.id, title: $0.text, stars: 0)
            } down: {
                Note(id: $0.id, text: $0.title)
            }
        for entry in [AnyStorageKey.collection(titled), .key(titled.key("a"))] {
            #expect(try router.problems(of: TestCatalog(entry)).map(\.kind) == [.unusableWindow])
            await expectRefusal(.unsupported, saying: "slot of the key itself") { try await router.registerCatalog(TestCatalog(entry)) }
        }
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a plan predicts the sweep and reports the mirrors that the window keeps`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set(Self.note("a", "one"), in: world.old)
        try await v2.set(Self.note("b", "two"), in: world.notes)
        try await v2.registerCatalog(TestCatalog(.collection(world.notes)))
        for state in [MigrationReport.State.moved, .mirrored] {
            let planned = try #require(await v2.planSweep().rows.first)
            let swept = await v2.sweep()
            let row = try #require(swept.rows.first)
            #expect(planned.state == state)
            #expect(row.state == state)
            #expect(planned.records == row.records)
            #expect(planned.steps == row.steps)
            let keeps = try #require(row.keeps)
            #expect(planned.keeps == keeps)
            #expect(keeps.until == "until it is released")
            #expect(keeps.isWeaker == (way == .listToDatabase))
        }
        #expect(try await v2.audit().rows.first?.keeps != nil)
    }

    @Test
    func `a catalog is refused if a window would never end, or if it keeps a less protected copy without the option keepsWeakerCopy`()
        async throws
    {
        let router = TestMachine().launch()
        let old = Note.collection("old", .userDefaults(suite: "old"))
        let weaker = Note.collection(.encryptedSQLite(database: "new")).moved(from: old, keeping: .untilReleased)
        let error = await #expect(throws: StorageError.self) { try await router.registerCatalog(TestCatalog(.collection(weaker))) }
        #expect(error?.message.contains("keepsWeakerCopy") == true)
        let version = Note.collection("unending", .userDefaults(suite: "new")).moved(from: old, keeping: .until(version: "3.0"))
        await expectRefusal(.unsupported, saying: "would never end") {
            try await router.registerCatalog(TestCatalog(.collection(version)))
        }
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a record of another type in the legacy collection stays unchanged`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        let others = StorageCollection<Note>("old", domain: way.old, owner: "Tests", description: "Others", typeTag: "Other")
        try await v1.set(Self.note("a", "another"), in: others)
        try await v1.set(Self.note("b", "one"), in: world.old)
        #expect(try await world.texts(world.notes, v2) == ["b: one"])
        #expect(try await v2.row(of: world.notes)?.state == .mirrored)
        try await v2.set(Self.note("a", "two"), in: world.notes)
        #expect(try await world.texts(world.notes, v2) == ["a: two", "b: one"])
        let row = try #require(try await v2.row(of: world.notes))
        #expect(row.state == .failed)
        #expect(row.errorCode == .incompatibleSchema)
        #expect(try await world.texts(others, v1) == ["a: another"])
        try await v2.remove("a", in: world.notes)
        #expect(try await world.texts(world.notes, v2) == ["b: one"])
        #expect(try await world.texts(others, v1) == ["a: another"])
    }

    @Test func `the next sweep removes the mirror of a record that was set while the window ended`() async throws {
        let world = World(.listToList)
        let (slow, fast) = (world.machine.launch(), world.machine.launch())
        try await fast.set(Self.note("a", "one"), in: world.notes)
        _ = try await slow.value("a", in: world.notes)
        let gate = FaultGate()
        try #require(world.machine.backends(of: world.way.new).last).inject(.hold(gate), of: .apply)
        async let change: Void = slow.set(Self.note("b", "two"), in: world.notes)
        await gate.untilArrivals()
        try await fast.endReleaseWindow(in: world.notes)
        gate.open()
        try await change
        #expect(try await world.left() == ["collection:old: b", "window:collection:old: b"])
        _ = try await fast.row(of: world.notes)
        #expect(try await world.left() == [])
        #expect(try await world.texts(world.notes, slow) == ["a: one", "b: two"])
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a damaged legacy record does not hide other records, and a count throws while the legacy store is locked`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = World(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        for id in ["a", "b"] { try await v1.set(Self.note(id, "one"), in: world.old) }
        _ = try await v2.count(in: world.notes)
        try await v1.set(NoNote(broken: 1), in: NoNote.collection("old", way.old, id: "c"))
        try await v1.set(Self.note("a", "two"), in: world.old)
        let found = try await v2.everything(in: world.notes)
        #expect(found.records.map(\.text).sorted() == ["one", "two"])
        #expect(found.damaged.count == 1)
        try #require(world.machine.backends(of: way.old).last).lock()
        await #expect(throws: StorageError.self) { try await v2.count(in: world.notes) }
    }
}
