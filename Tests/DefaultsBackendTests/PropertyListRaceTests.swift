import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization
import TestSupport
import Testing

/// Programs that take no lock and write while this one is writing.
@Suite(.inTurn) struct PropertyListRaceTests {
    @Test(arguments: ["create", "synchronizeFile"]) func `what another program writes until the rename is kept`(moment: String) async throws
    {
        let scratch = try Scratch()
        let path = scratch.path()
        let isArmed = Mutex(false)
        let files = HookedFiles { operation, target in
            // Once, while the new content is on its way to the disk, another program rewrites the file.
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
