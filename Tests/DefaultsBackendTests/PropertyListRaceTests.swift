import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of programs that write without a lock while this store is writing.
@Suite(.inTurn) struct PropertyListRaceTests {
    @Test(arguments: ["create", "synchronizeFile"]) func `a write by another program just before this store renames its new file is kept`(
        moment: String
    ) async throws {
        let scratch = try Scratch()
        let path = scratch.path()
        let isArmed = Mutex(false)
        let files = HookedFiles { operation, target in
            // The other program rewrites the file once, while this store writes its new content to disk.
            guard operation == moment, isArmed.withLock({ $0 }) else { return }
            isArmed.withLock { $0 = false }
            let entries = ["theirs": "written meanwhile"]
            try? PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0).write(to: URL(fileURLWithPath: path))
        }
        let store = scratch.store(.live(files: files))
        #expect(try await store.apply(.put(.native(.string("first")), at: StorageAddress("first"))).isApplied)
        isArmed.withLock { $0 = true }
        #expect(try await store.apply(.put(.native(.string("ours")), at: StorageAddress("ours"))).isApplied)
        #expect(isArmed.withLock(\.self) == false)
        #expect(try await store.read(StorageAddress("theirs")).record?.payload == .native(.string("written meanwhile")))
        #expect(try await store.read(StorageAddress("ours")).record?.payload == .native(.string("ours")))
    }
}
