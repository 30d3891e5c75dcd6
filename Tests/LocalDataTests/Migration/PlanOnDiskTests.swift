import BackendContract
import Foundation
import LocalData
import TestSupport
import Testing

/// Tests of `planSweep()` with stores on disk. A sweep moves, converts and resolves the values of all keys of a
/// catalog. `planSweep()` predicts the report of the sweep, and must not change any file.
@Suite(.inTurn) struct PlanOnDiskTests {
    /// The contents of all files below a folder, without lock files and SQLite's log and shared memory files.
    private func files(_ root: URL) throws -> [String: Data] {
        var found: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
            if path.hasSuffix("-wal") || path.hasSuffix("-shm") || path.hasSuffix(".lock") || path.hasSuffix("locks") { continue }
            found[path] = FileManager.default.contents(atPath: root.appending(path: path).path) ?? Data("a folder".utf8)
        }
        return found
    }

    private struct Note: Codable, Identifiable {
        var id: String
        var text: String
    }

    private func keys(_ strong: StorageDomain) -> [AnyStorageKey] {
        let older = StorageDomain.userDefaults(suite: "older")
        let sealed = textKey("sealed", .userDefaults(suite: "modern"), .encrypted).moved(from: textKey("plain", older))
        let row = textKey("row", strong).moved(from: textKey("value", older))
        let shaped = textKey("shaped", .userDefaults(suite: "modern")).evolving(Evolution.from(Int.self).to { "\($0)" }.keepingBackup())
        let conflict = textKey("conflict", .userDefaults(suite: "modern")).moved(from: textKey("conflict", older))
        let notes = StorageCollection<Note>("notes", domain: strong, owner: "Tests", description: "Notes")
            .moved(from: testKey("list", older, of: [Note].self)) { $0 }
        return [.key(sealed), .key(row), .key(shaped), .key(conflict), .collection(notes)]
    }

    private func fill(_ router: StorageRouter) async throws {
        let older = StorageDomain.userDefaults(suite: "older")
        for name in ["plain", "value", "conflict"] { try await router.set("old \(name)", for: textKey(name, older)) }
        try await router.set("new", for: textKey("conflict", .userDefaults(suite: "modern")))
        try await router.set(7, for: testKey("shaped", .userDefaults(suite: "modern"), of: Int.self))
        try await router.set([Note(id: "a", text: "a")], for: testKey("list", older, of: [Note].self))
    }

    private func check(_ strong: StorageDomain) async throws {
        let stage = try Stage()
        try await fill(stage.launch())
        let before = try files(stage.root)
        let router = stage.launch()
        try await router.registerCatalog(TestCatalog(keys(strong)))
        let plan = await router.planSweep()
        _ = try await router.audit()
        _ = try await router.migrations()
        #expect(try files(stage.root) == before, "a file was changed, made or removed by a plan")
        let done = await router.sweep()
        #expect(done.rows.map(\.state) == [.moved, .moved, .converted, .resolved, .moved])
        for (planned, found) in zip(plan.rows, done.rows) {
            var planned = planned
            planned.duration = found.duration
            #expect(planned == found)
        }
        let conflict = try #require(done.rows[3].conflict)
        #expect(conflict.destination.outcome == .kept && !conflict.destination.isQuarantined)
        #expect(conflict.sources.outcome == .removed && conflict.sources.isQuarantined)
        #expect(done.rows[2].steps.map(\.action).sorted { $0.rawValue < $1.rawValue } == [.backUp, .write])
        try await router.shutdown()
    }

    @Test func `planSweep creates no file and no encryption key for property lists, and predicts the sweep`() async throws {
        try await check(.userDefaults(suite: "strong"))
    }

    #if SQLite
        @Test
        func `planSweep does not create a missing database into which the sweep moves values, and predicts the sweep`() async throws {
            try await check(.encryptedSQLite(database: "main"))
        }
    #endif
}
