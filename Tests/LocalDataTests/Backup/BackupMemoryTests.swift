#if SQLite && os(Linux)
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// The peak memory of backups.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct BackupMemoryTests {
        /// Returns the peak memory of a separate process in KiB: at its start, and after a backup, a verification and a
        /// restore.
        /// - Parameter count: The number of values of 64 KiB in the store.
        private func peaks(_ count: Int) async throws -> [Int] {
            let stage = try Stage()
            let router = stage.launch()
            // Each value has different bytes, so that no store can save memory by storing equal values once.
            for number in 0..<count {
                let text = String(decoding: (0..<65_536).map { UInt8(97 + ($0 &* 31 &+ number) % 26) }, as: UTF8.self)
                try await router.set(text, for: textKey("n\(number)", .encryptedSQLite(database: "main")))
            }
            let key = try await router.addRecoveryKey(to: .encryptedSQLite(database: "main"))
            try await router.shutdown()
            return try await stage.memoryOfKeeping(in: stage.directory.file("kit"), key)
        }

        @Test func `a backup, verification and restore of 8 MiB need less than 4 MiB more memory than those of 1 MiB`() async throws {
            let (small, large) = (try await peaks(16), try await peaks(128))
            print("peak memory in KiB before, after backup, verification and restore: \(small) for 1 MiB, \(large) for 8 MiB")
            try #require(small.count == 4 && large.count == 4)
            for (small, large) in zip(small, large) { #expect(large < small + 4_096) }
        }
    }
#endif
