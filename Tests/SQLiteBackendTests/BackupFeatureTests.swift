#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// What features add to a database, in its backup.
    @Suite(.inTurn) struct BackupFeatureTests {
        @Test func `large contents and ordered values are in a backup, and whole when it is restored`() async throws {
            let (place, other) = (try Place(), try Place())
            let store = place.store()
            let large = StorageAddress("large")
            #expect(try await store.put([1], at: large, content: .made(200_000)).isApplied)
            for number in 0..<5 {
                let value = try OrderedValue("number", [.integer(Int64(-number))])
                #expect(try await store.put([2], at: StorageAddress("\(number)", in: shelf), ordered: [value]).isApplied)
            }
            let backup = DatabaseBackup(path: place.path, lock: place.lockPath, deadline: .seconds(60), runtime: .live)
            let copy = try #require(try await backup.copyForBackup(deadline: Runtime.live.clock.now.advanced(by: .seconds(60))))
            // What is changed meanwhile is not in it.
            #expect(try await store.put([1], at: large, content: .made(70_000, seed: 2)).isApplied)
            let source = place.keyFile()
            let key = try #require(try await source.load()).current
            let draft = try await DatabaseDraft(
                path: other.path, keys: [key], own: RestoredKey(key: key, source: source.pin), deadline: .seconds(60), runtime: .live)
            while let part = try await copy.nextPart() { try await draft.take(part) }
            await copy.close()
            try await draft.finish()
            try FileManager.default.createDirectory(
                atPath: other.folder + "/keys", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try FileManager.default.copyItem(atPath: place.keyPath, toPath: other.keyPath)
            let restored = other.store()
            #expect(try await restored.holds(200_000, at: large))
            let page = try await restored.ordered("number", in: shelf)
            #expect(page.entries.map(\.entry.address.name) == ["4", "3", "2", "1", "0"] && page.isComplete)
            #expect(try await restored.verifyIntegrity { _ in }?.isSound == true)
            #expect(try await store.holds(70_000, seed: 2, at: large))
            await store.close()
            await restored.close()
        }
    }
#endif
