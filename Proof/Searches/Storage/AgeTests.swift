#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Searches for a file that grows with the age of a machine instead of with its values: the table "What grows" of `Docs/Formats.md`.
    @Suite(.inTurn, .timeLimit(.minutes(20))) struct AgeTests {
        private struct Note: Codable, Sendable, Identifiable {
            var id: String
            var text: String
        }

        /// The keys of one release. Each release moves a value to a key with another name.
        private struct Release: StorageKeyCatalog {
            let day: Int
            let domain: StorageDomain
            static let older = StorageKey<String>(name: "older", domain: .userDefaults(suite: "older"))
            var moving: StorageKey<String> {
                StorageKey(name: "moving \(day)", domain: domain).moved(from: StorageKey(name: "moving \(day - 1)", domain: domain))
            }
            var contested: StorageKey<String> { StorageKey(name: "contested", domain: domain).moved(from: Self.older) }
            var settings: [StorageKey<String>] { (0..<20).map { StorageKey(name: "setting \($0)", domain: domain) } }
            var list: StorageKey<String> { StorageKey(name: "plain", domain: .userDefaults) }
            var notes: StorageCollection<Note> {
                StorageCollection("notes", domain: domain).moved(from: StorageCollection("older notes", domain: domain))
            }
            var allKeys: [AnyStorageKey] {
                [.key(moving), .key(contested), .key(list), .collection(notes)] + settings.map { .key($0) }
            }
        }

        private static let recoveryKey = "0410-6105-0R3G-G28A-1C60-T3GF-208H-44RM-2MB1-E60S-38DH-R78Y-3WG0-Z1WJ"

        /// Returns the size of each file under a folder, by its path.
        private static func sizes(of folder: String) throws -> [String: Int] {
            var sizes: [String: Int] = [:]
            let paths = FileManager.default.enumerator(atPath: folder)
            while let path = paths?.nextObject() as? String {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
                if attributes[.type] as? FileAttributeType == .typeRegular { sizes[path] = attributes[.size] as? Int ?? 0 }
            }
            return sizes
        }

        /// Lives through one day with one release.
        private static func live(_ day: Int, _ configuration: StorageConfiguration, backup: URL) async throws {
            let release = Release(day: day, domain: .encryptedSQLite(database: "main"))
            var configuration = configuration
            configuration.applicationVersion = "\(day)"
            let storage = StorageRouter(configuration: configuration)
            // The release before this one runs once more, and stores a value at its location.
            try await storage.set("older \(day)", for: Release.older)
            let report = try await storage.registerCatalog(release, migrateImmediately: true)
            #expect(report.isComplete, "day \(day): \(report)")
            #expect(try await storage.get(release.moving) == "moved")
            for (number, key) in release.settings.enumerated() { try await storage.set("value \(day)", for: key, if: number % 3 != 2) }
            try await storage.set("plain \(day)", for: release.list)
            try await storage.set((0..<10).map { Note(id: "n\($0)", text: "day \(day)") }, in: release.notes)
            for number in 5..<10 { try await storage.remove("n\(number)", in: release.notes) }
            try await storage.remove(release.settings[2])
            try await storage.rotateDataKey(of: release.domain)
            if day % 5 == 0 {
                try await storage.rotateKey()
                try await storage.deleteOlderKeys()
                try? FileManager.default.removeItem(at: backup)
                try await storage.backup(to: backup, openedBy: [.recoveryKey(RecoveryKey(text: recoveryKey))])
            }
            // Every other day, the program is killed instead of ended.
            if day % 2 == 0 { try await storage.shutdown() }
        }

        @Test func `no file grows with the number of days, releases, rotations, removals and backups`() async throws {
            let folder = try TemporaryDirectory()
            var configuration = StorageConfiguration(root: URL(filePath: folder.file("root")), applicationID: "com.example.notes")
            configuration.deadlines.files = .seconds(120)
            configuration.runtime.isPatient = true
            let days = ProcessInfo.processInfo.environment["AGE_DAYS"].flatMap(Int.init) ?? 120
            let first = StorageRouter(configuration: configuration)
            try await first.set("moved", for: StorageKey<String>(name: "moving 0", domain: .encryptedSQLite(database: "main")))
            try await first.shutdown()
            var young: [String: Int] = [:]
            for day in 1...days {
                try await Self.live(day, configuration, backup: URL(filePath: folder.file("backup")))
                if day == days / 2 { young = try Self.sizes(of: folder.file("root")) }
            }
            let old = try Self.sizes(of: folder.file("root"))
            let half = days / 2
            for (path, size) in old.sorted(by: { $0.key < $1.key }) {
                let growth = size - (young[path] ?? 0)
                // The table allows these to grow: a displaced value each day, a key for each rotation of a data key, and the history up
                // to a limit. The rows of a database fill its pages better or worse, so the file varies by a few pages.
                let allowed =
                    switch path {
                    case "data/quarantine/quarantine.plist": half * 1_100
                    case "data/databases/main.sqlite": half * 30 + 24_576
                    case "state/history.log": 1 << 20
                    case _ where path.hasSuffix("-wal"): 4 << 20
                    default: 1_024
                    }
                print("\(path): \(young[path] ?? 0) after \(half) days, \(size) after \(days)")
                #expect(growth <= allowed, "\(path) grew by \(growth) bytes in \(half) days")
            }
            let audit = try await StorageRouter(configuration: configuration).audit()
            #expect(audit.quarantine.count >= half)
        }
    }

    extension StorageRouter {
        fileprivate func set(_ value: String, for key: StorageKey<String>, if isWanted: Bool) async throws {
            if isWanted { try await set(value, for: key) }
        }
    }
#endif
