import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData
@testable import Sealing

/// The notes about migrations make no later process slow, however many values a program has moved.
///
/// The ledger is a property list with notes about sweeps and stores. A pin is the recorded identity of a sealing key. The history is
/// the log of the migrations. Earlier releases kept pins and history in the ledger.
@Suite(.inTurn) struct LedgerSizeTests {
    private let older = StorageDomain.userDefaults(suite: "older")
    private let newer = StorageDomain.userDefaults(suite: "newer")

    private func key(_ index: Int, _ security: SecurityPolicy = .automatic) -> StorageKey<String> {
        textKey("new-\(index)", newer, security).moved(from: textKey("old-\(index)", older))
    }

    private func entries(_ stage: Stage, _ name: String) -> [String: Any] {
        let data = FileManager.default.contents(atPath: "\(stage.root.path)/state/\(name)") ?? Data()
        return (try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]) ?? [:]
    }

    private func size(_ stage: Stage, _ name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: "\(stage.root.path)/state/\(name)")[.size] as? Int) ?? 0
    }

    private func sweep(_ count: Int, on stage: Stage) async throws {
        try stage.writePropertyList(Dictionary(uniqueKeysWithValues: (0..<count).map { ("old-\($0)", "value \($0)") }), suite: "older")
        let router = stage.launch { $0.applicationVersion = "2.1" }
        try await router.registerCatalog(TestCatalog((0..<count).map { .key(key($0, .encrypted)) }), migrateImmediately: true)
            .requireComplete()
        try await router.shutdown()
    }

    // MARK: Size

    @Test func `a sweep adds no entry for each value to the lists that later processes read`() async throws {
        let stage = try Stage()
        try await sweep(300, on: stage)
        #expect(size(stage, "pins.plist") < 2_000)
        #expect(size(stage, "ledger.plist") < 2_000)
        let history = try await stage.launch().history()
        #expect(history.values.count == 300 && history.migrations.map(\.successes).reduce(0, +) == 300)
        #expect(history.versions == ["Tests": "2.1"])
    }

    @Test func `a get that moves a value appends one line to the history, and rewrites no list of notes`() async throws {
        let stage = try Stage()
        try await sweep(100, on: stage)
        try stage.writePropertyList(["old-100": "value 100"], suite: "older")
        let before = (size(stage, "history.log"), try Data(contentsOf: stage.root.appending(path: "state/ledger.plist")))
        let router = stage.launch()
        #expect(try await router.get(key(100, .encrypted)) == "value 100")
        try await router.shutdown()
        #expect((1...600).contains(size(stage, "history.log") - before.0))
        #expect(try Data(contentsOf: stage.root.appending(path: "state/ledger.plist")) == before.1)
        #expect(try await stage.launch().history().values.count == 101)
    }

    @Test func `a full history drops its earliest values, keeps their totals, and stays below its limit`() async throws {
        let log = try TemporaryDirectory()
        let file = HistoryFile(deadline: .seconds(120), runtime: .live) { () throws(BackendError) in
            (log.file("state/history.log"), log.file("locks/history.lock"))
        }
        let text = String(repeating: "x", count: 2_000)
        for index in 0..<1_200 {
            var page = HistoryPage(at: Date(timeIntervalSinceReferenceDate: Double(index)), version: "1")
            page.work = ["move": HistoryPage.Work(successes: 1, values: 2, failures: index == 3 ? 1 : 0, error: index == 3 ? "bad" : nil)]
            page.moved = [HistoryPage.Moved(to: "\(index)", from: [text], by: "single")]
            try await file.append(page.line)
        }
        let status = try #require(try PosixFileSystem().status(log.file("state/history.log")))
        #expect(status.size <= Int64(HistoryLimit.size))
        var totals = HistoryPage.Totals()
        let pages = HistoryPage.pages(try await file.lines())
        for (page, _) in pages { totals.add(page) }
        let move = try #require(totals.migrations["move"])
        #expect(move.successes == 1_200 && move.values == 2_400 && move.failures == 1 && move.lastError == "bad")
        #expect(
            move.firstWorked == Date(timeIntervalSinceReferenceDate: 0) && move.lastWorked == Date(timeIntervalSinceReferenceDate: 1_199))
        #expect(totals.migrations["single"]?.successes == 1_200)
        #expect(pages.last?.page.moved?.map(\.to) == ["1199"] && (200..<600).contains(pages.count))
    }

    @Test func `the history in a store drops its earliest values too`() async throws {
        let router = TestMachine().launch()
        /// The log of a process whose calls all measure the history, or none of them.
        func log(measures: Bool) -> HistoryEntries {
            var runtime = router.configuration.runtime
            runtime.randomness = Randomness(words: { UInt64.random(in: .min ... .max) << 8 | (measures ? 0 : 1) })
            return HistoryEntries(router.history.ledger.store, runtime)
        }
        let text = String(repeating: "x", count: 5_000)
        for index in 0..<256 {
            var page = HistoryPage(at: Date(timeIntervalSinceReferenceDate: Double(index)), version: nil)
            page.moved = [HistoryPage.Moved(to: "\(index)", from: [text], by: "single")]
            try await log(measures: index == 255).append(page.line)
        }
        let lines = try await log(measures: false).lines()
        #expect(lines.reduce(0) { $0 + $1.count } <= HistoryLimit.size / 2 + 2_000)
        var totals = HistoryPage.Totals()
        for (page, _) in HistoryPage.pages(lines) { totals.add(page) }
        #expect(totals.migrations["single"]?.successes == 256)
    }

    @Test func `a line that a killed process wrote partly hides no other line`() async throws {
        let stage = try Stage()
        try await sweep(2, on: stage)
        let path = stage.root.path + "/state/history.log"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try (bytes + Data("\n{\"at\":12,\"mov".utf8)).write(to: URL(fileURLWithPath: path))
        try setPermissions(0o600, of: path)
        try stage.writePropertyList(["old-2": "value 2"], suite: "older")
        #expect(try await stage.launch().get(key(2)) == "value 2")
        #expect(try await stage.launch().history().values.count == 3)
    }

    @Test func `older copies that remain are recorded up to a limit`() async throws {
        let router = TestMachine().launch()
        let ledger = router.history.ledger
        let slots = try (0..<MigrationLedger.maximumOfResidues + 50).map { index in
            try router.slots.routes.slot(for: textKey("key-\(index)", newer)).route
        }
        for route in slots { ledger.remains(route, of: route, "It is locked.") }
        #expect(await ledger.residues().count == MigrationLedger.maximumOfResidues)
        ledger.isGone(slots[0], of: slots[0])
        await ledger.flush()
        ledger.remains(slots.last!, of: slots.last!, "It is locked.")
        #expect(await ledger.residues().count == MigrationLedger.maximumOfResidues)
    }

    @Test func `a forgotten store leaves no value in the history, and the number of its migrations stays`() async throws {
        let stage = try Stage()
        try await sweep(3, on: stage)
        let router = stage.launch()
        try await router.forget(newer)
        let history = try await router.history()
        #expect(history.values.isEmpty && history.migrations.map(\.successes) == [1, 1, 1])
        let text = try String(contentsOfFile: stage.root.path + "/state/history.log", encoding: .utf8)
        #expect(!text.contains("\"moved\""))
    }

    @Test func `of 5,000 values that move before a flush, the history lists the last ones, and counts 1,000 of the others`() async throws {
        let router = TestMachine().launch()
        for index in 0..<5_000 {
            let route = try router.slots.routes.slot(for: textKey("key-\(index)", newer)).route
            router.history.ledger.counts.moved([(route, [route], "migration-\(index)")])
        }
        let history = try await router.history()
        #expect(history.values.count == 5_000 - 4_097)
        #expect(history.values.contains { $0.migration == "migration-4999" })
        #expect(history.migrations.count == 1_000 + 903 && history.migrations.allSatisfy { $0.successes == 1 && $0.values == 1 })
    }

    @Test func `a history with a quotation mark and a line break is read back without a change`() throws {
        var page = HistoryPage(at: Date(timeIntervalSinceReferenceDate: 7), version: "2.1")
        page.moved = [
            HistoryPage.Moved(to: "7:\"memory\",", from: ["a\n", "é\\"], by: "one"),
            HistoryPage.Moved(to: "b\u{1}", from: [], by: ""),
        ]
        let read = try #require(HistoryPage(line: try page.line))
        #expect(read.at == page.at && read.version == "2.1" && read.moved?.map(\.to) == page.moved?.map(\.to))
        #expect(read.moved?.map(\.from) == page.moved?.map(\.from) && read.moved?.map(\.by) == page.moved?.map(\.by))
    }

    // MARK: The ledger of an earlier release

    /// Writes a ledger as releases before the history wrote it: with a pin, and with two entries for each moved value.
    private func writeEarlierLedger(_ count: Int, on stage: Stage) async throws {
        try await stage.launch().set("v", for: textKey("sealed", newer, .encrypted))
        let pins = entries(stage, "pins.plist").filter { $0.key.hasPrefix("pin:") }
        #expect(pins.count == 1)
        try FileManager.default.removeItem(atPath: stage.root.path + "/state")
        var list: [String: Any] = pins
        for index in 0..<count {
            let (id, name) = ("move \(index)", "new-\(index)")
            let date = Date(timeIntervalSinceReferenceDate: 700_000_000 + Double(index))
            let place = "12:userDefaults,5:newer,0:,\(name.utf8.count):\(name),"
            list["history:\(id)"] =
                ["id": id, "successes": 2, "failures": 1, "values": 2, "firstWorked": date, "lastWorked": date, "lastFailed": date]
                as [String: Any]
            list["value:\(place)"] =
                ["place": "userDefaults/newer//\(name)", "sources": ["userDefaults/older//old-\(index)"], "migration": id, "date": date]
                as [String: Any]
        }
        list["version:Tests"] = "1.0"
        let folder = stage.root.path + "/state"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
        try data.write(to: URL(fileURLWithPath: folder + "/ledger.plist"))
        try setPermissions(0o600, of: folder + "/ledger.plist")
    }

    private func expectFolded(on stage: Stage) async throws {
        #expect(entries(stage, "pins.plist").keys.filter { $0.hasPrefix("pin:") }.count == 1)
        #expect(
            entries(stage, "ledger.plist").keys.allSatisfy {
                $0.hasPrefix("version:") || $0.hasPrefix("domain:") || $0.hasPrefix("LocalData")
            })
        let history = try await stage.launch().history()
        #expect(history.values.isEmpty && history.migrations.isEmpty && history.versions["Tests"] == "1.0")
    }

    @Test func `the first use of a sealing key moves the pin out of an earlier ledger, and deletes its history`() async throws {
        let stage = try Stage()
        try await writeEarlierLedger(20, on: stage)
        #expect(try await stage.launch().get(textKey("sealed", newer, .encrypted)) == "v")
        try await expectFolded(on: stage)
    }

    @Test func `an earlier ledger that is too large for its store is reduced in the same way`() async throws {
        let stage = try Stage()
        let count = 1_600
        try await writeEarlierLedger(count, on: stage)
        #expect(size(stage, "ledger.plist") >= EarlierLedger.leastSize)
        #expect(try await stage.launch().get(textKey("sealed", newer, .encrypted)) == "v")
        #expect(size(stage, "ledger.plist") < 1_000)
        try await expectFolded(on: stage)
    }

    @Test func `an earlier ledger is reduced by the next sweep if a process was killed after it had moved the pin`() async throws {
        let stage = try Stage()
        try await writeEarlierLedger(5, on: stage)
        let ledger = stage.root.appending(path: "state/ledger.plist")
        let before = try Data(contentsOf: ledger)
        #expect(try await stage.launch().get(textKey("sealed", newer, .encrypted)) == "v")
        try before.write(to: ledger)
        try setPermissions(0o600, of: ledger.path)
        _ = await stage.launch().sweep()
        try await expectFolded(on: stage)
    }

    @Test func `an earlier ledger that cannot be changed hides neither the pin nor the version`() async throws {
        let stage = try Stage()
        try await writeEarlierLedger(3, on: stage)
        // A folder in the place of a lock file cannot be locked.
        let list = stage.root.path + "/state/ledger.plist"
        let lock = PropertyListStore.lockPath(
            forPropertyListAt: list, in: try #require(try stage.launch().configuration.directories).locks,
            files: stage.launch().configuration.runtime.files)
        try? FileManager.default.removeItem(atPath: lock)
        try FileManager.default.createDirectory(
            atPath: lock, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        #expect(try await stage.launch().get(textKey("sealed", newer, .encrypted)) == "v")
        #expect(try await stage.launch().history.ledger.applicationVersion(of: "Tests").get() == "1.0")
        #expect(entries(stage, "ledger.plist").keys.contains { $0.hasPrefix("value:") })
    }

    @Test func `a pin in an earlier ledger still protects from a lost key`() async throws {
        let stage = try Stage()
        try await writeEarlierLedger(1, on: stage)
        let keyFile = stage.root.path + "/data/sealing-key"
        let right = try String(contentsOfFile: keyFile, encoding: .utf8)
        try FileManager.default.removeItem(atPath: keyFile)
        let value = textKey("sealed", newer, .encrypted)
        await expectRefusal(StorageError.encryptionKeyMissing) { _ = try await stage.launch().get(value) }
        await expectRefusal(StorageError.encryptionKeyMissing) { try await stage.launch().set("w", for: value) }
        #expect(!FileManager.default.fileExists(atPath: keyFile))
        try writeFile(right, to: keyFile)
        #expect(try await stage.launch().get(value) == "v")
    }

    @Test func `a plan that meets an earlier ledger predicts what the sweep reports about a lost key`() async throws {
        let stage = try Stage()
        try await writeEarlierLedger(1, on: stage)
        try FileManager.default.removeItem(atPath: stage.root.path + "/data/sealing-key")
        try stage.writePropertyList(["old-7": "value 7"], suite: "older")
        let router = stage.launch()
        try await router.registerCatalog(TestCatalog([.key(key(7, .encrypted))]))
        let plan = await router.planSweep()
        #expect(entries(stage, "ledger.plist").keys.contains { $0.hasPrefix("pin:") })
        let report = await router.sweep()
        #expect(plan.rows.map(\.state) == report.rows.map(\.state) && plan.rows.map(\.errorCode) == report.rows.map(\.errorCode))
        #expect(report.rows.map(\.errorCode) == [StorageError.encryptionKeyMissing])
    }

    @Test func `a key that an earlier release rotated beside this one is accepted`() async throws {
        let stage = try Stage()
        let value = textKey("sealed", newer, .encrypted)
        try await stage.launch().set("v", for: value)
        let keyFile = stage.root.path + "/data/sealing-key"
        let source = try #require(entries(stage, "pins.plist").keys.first { $0.hasPrefix("pin:") })
        // The earlier release replaced the key, sealed the value again, and recorded the new key where it keeps the pins.
        let other = try Stage()
        let key = SealingKey.random(Runtime.live.randomBytes)
        try await other.launch().set("x", for: value)
        try await stage.launch().remove(value)
        try writeFile(key.text + "\n", to: keyFile)
        await expectRefusal(StorageError.encryptionKeyMismatch) { try await stage.launch().set("w", for: value) }
        let path = stage.root.path + "/state/ledger.plist"
        let list = try PropertyListSerialization.data(fromPropertyList: [source: key.identity.text], format: .xml, options: 0)
        try list.write(to: URL(fileURLWithPath: path))
        try setPermissions(0o600, of: path)
        try await stage.launch().set("w", for: value)
        #expect(try await stage.launch().get(value) == "w")
        #expect(entries(stage, "pins.plist")[source] as? String == key.identity.text)
    }

    @Test func `a damaged list of pins is an error, and a damaged ledger does not stop the stores`() async throws {
        let stage = try Stage()
        let value = textKey("sealed", newer, .encrypted)
        try await stage.launch().set("v", for: value)
        let (pins, ledger) = (stage.root.path + "/state/pins.plist", stage.root.path + "/state/ledger.plist")
        let right = try String(contentsOfFile: pins, encoding: .utf8)
        try writeFile("garbage", to: ledger)
        try setPermissions(0o600, of: ledger)
        #expect(try await stage.launch().get(value) == "v")
        try writeFile("garbage", to: pins)
        await expectRefusal(StorageError.corrupted) { _ = try await stage.launch().get(value) }
        try writeFile(right, to: pins)
        #expect(try await stage.launch().get(value) == "v")
    }

    // MARK: A ledger that cannot be read

    @Test func `a migration with a condition on the version does not run while the ledger cannot be read`() async throws {
        let stage = try Stage()
        let older = textKey("old", older)
        let key = StorageKey<String>(name: "new", domain: newer, owner: "Tests", description: "A value") { key in
            AnyStorageMigration(ConditionalMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: older), below: "3.0"))
        }
        func launch() async throws -> StorageRouter {
            let router = stage.launch { $0.applicationVersion = "3.0" }
            try await router.registerCatalog(TestCatalog([.key(key)]))
            return router
        }
        try await launch().sweep().requireComplete()
        // Version 3.0 has completed a sweep, so the value belongs to another program.
        try stage.writePropertyList(["old": "another program's"], suite: "older")
        #expect(try await launch().value(for: key) == nil)
        let ledger = stage.root.path + "/state/ledger.plist"
        let right = try String(contentsOfFile: ledger, encoding: .utf8)
        try writeFile("garbage", to: ledger)
        let router = try await launch()
        await expectRefusal(StorageError.corrupted) { _ = try await router.value(for: key) }
        let report = await router.sweep()
        #expect(!report.isComplete && report.rows.map(\.errorCode) == [.corrupted])
        #expect(try stage.propertyList(suite: "older")["old"] as? String == "another program's")
        // The router reads the repaired ledger.
        try writeFile(right, to: ledger)
        #expect(try await router.value(for: key) == nil)
        try await router.sweep().requireComplete()
        #expect(try stage.propertyList(suite: "older")["old"] as? String == "another program's")
    }
}
