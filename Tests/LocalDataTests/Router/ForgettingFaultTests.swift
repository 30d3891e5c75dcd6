import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport
import Testing

/// Tests of the outcomes that `forget` reports when the disk fails.
struct ForgettingFaultTests {
    private static let list = StorageDomain.userDefaults(suite: "list")

    /// The operation is performed and then fails, as a flush that reports an error although the names are on the disk.
    @Test func `a forget that reports notApplied destroys nothing, also later`() async throws {
        let key = textKey("a", Self.list)
        for number in 1... {
            let stage = try Stage()
            let before = stage.launch()
            try await before.set("kept", for: key)
            try await before.shutdown()
            let files = HookedFiles()
            let storage = stage.launch { $0.runtime.files = files }
            files.arm(.failsAfter(EIO), at: number)
            var outcome: MutationOutcome?
            do { try await storage.forget(Self.list) } catch let error as StorageError { outcome = error.outcome }
            let operations = files.operations
            files.arm(nil)
            let found = try await stage.launch().value(for: key)
            if outcome == .notApplied { #expect(found == "kept", "operation \(number), \(operations.last ?? "none")") }
            if outcome == nil {
                #expect(found == nil)
                if operations.count < number { break }
            }
        }
    }
}
