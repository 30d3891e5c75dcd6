import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport
import Testing

/// Tests of the outcomes that `forget` reports when the disk fails.
struct ForgettingFaultTests {
    private static let list = StorageDomain.userDefaults(suite: "list")

    private static let older = textKey("a", .userDefaults(suite: "older"))

    /// The operation is performed and then fails, as a flush that reports an error although the names are on the disk. Tries every third
    /// operation.
    @Test(arguments: [textKey("a", list), textKey("a", list).moved(from: older)])
    func `a forget that reports notApplied destroys nothing, also later`(_ key: StorageKey<String>) async throws {
        for number in stride(from: 1, through: .max, by: 3) {
            let stage = try Stage()
            let before = stage.launch()
            try await before.set("kept", for: key.migrations.isEmpty ? key : Self.older)
            try await before.shutdown()
            let files = HookedFiles()
            let storage = stage.launch { $0.runtime.files = files }
            try await storage.registerCatalog(TestCatalog(.key(key)))
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
