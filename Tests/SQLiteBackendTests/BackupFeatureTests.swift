#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Tests of backups of databases with features, which are optional tables such as the labels by which queries find rows.
    @Suite(.inTurn) struct BackupFeatureTests {
        @Test func `a restored backup has all its labels, so queries find its values`() async throws {
            let (place, other) = (try Place(), try Place())
            let store = place.store()
            let metadata = StorageMetadata(attributes: ["color": "red"])
            func put(_ name: String) -> StorageMutation { .put(.bytes([2]), metadata, at: StorageAddress(name, in: shelf)) }
            for number in 0..<5 { #expect(try await store.apply(put("\(number)")).isApplied) }
            let backup = DatabaseBackup(path: place.path, lock: place.lockPath, deadline: .seconds(60), runtime: .live)
            let copy = try #require(try await backup.copyForBackup(deadline: Runtime.live.clock.now.advanced(by: .seconds(60))))
            // A change after the copy was made is not part of the backup.
            #expect(try await store.apply(put("later")).isApplied)
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
            let red = StorageQuery(shelf, [.attribute("color", "red")])
            #expect(try await restored.names(red) == ["0", "1", "2", "3", "4"])
            #expect(try await restored.verifyIntegrity { _ in }?.isSound == true)
            #expect(try await store.names(red) == ["0", "1", "2", "3", "4", "later"])
            await store.close()
            await restored.close()
        }
    }
#endif
