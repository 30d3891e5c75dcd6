import ArgumentParser
import BackendRuntime
import Foundation
import LocalData
import LocalDataBackup
import LocalDataCommands
import LocalDataTesting

/// The life of one machine, a day at a time, and single calls on it that `Prove age` counts.
///
/// Each day has another release of a program, which moves a value to a key with another name.
struct AgeWork {
    private struct Note: Codable, Sendable, Identifiable {
        var id: String
        var text: String
    }

    /// The keys of the release of a day.
    private struct Release: StorageKeyCatalog {
        let day: Int
        let id: String
        static let domain = StorageDomain.encryptedSQLite(database: "main")
        static let older = StorageDomain.userDefaults(suite: "older")
        var moving: StorageKey<String> { Self.key("moving \(day)").moved(from: Self.key("moving \(day - 1)")) }
        /// Keys whose older values lose each day, and fill the quarantine.
        static let contestedNames = ["first contested", "second contested"]
        var contested: [StorageKey<String>] { Self.contestedNames.map { Self.key($0).moved(from: Self.key($0, Self.older)) } }
        /// A key whose value the older release stores on the last day.
        var pending: StorageKey<String> { Self.key("pending").moved(from: Self.key("pending", Self.older)) }
        var settings: [StorageKey<String>] { (0..<20).map { Self.key("setting \($0)") } }
        var list: StorageKey<String> { Self.key("plain", .userDefaults) }
        var olderNotes: StorageCollection<Note> { Self.notes("older notes") }
        var notes: StorageCollection<Note> { Self.notes("notes").moved(from: olderNotes) }
        var allKeys: [AnyStorageKey] {
            [.key(moving), .key(pending), .key(list), .collection(notes)] + (contested + settings).map { .key($0) }
        }

        static func key(_ name: String, _ domain: StorageDomain = domain) -> StorageKey<String> {
            StorageKey(name: name, domain: domain, owner: "Age", description: "A value")
        }

        private static func notes(_ name: String) -> StorageCollection<Note> {
            StorageCollection(name, domain: domain, owner: "Age", description: "Notes")
        }
    }

    private static let application = "com.example.notes"

    private let root: String
    private let day: Int
    private let storage: StorageRouter
    /// Whether each day registers another catalog, of which the ledger keeps a note: the planted mistake.
    private let isPlanted: Bool
    private var release: Release { Release(day: day, id: isPlanted ? "notes \(day)" : "notes") }

    private init(root: String, day: Int, isPlanted: Bool) throws {
        (self.root, self.day, self.isPlanted) = (root, day, isPlanted)
        var configuration = StorageConfiguration(root: URL(filePath: "\(root)/root"), applicationID: Self.application)
        configuration.deadlines.files = .seconds(600)
        configuration.runtime.isPatient = true
        configuration.applicationVersion = "\(day)"
        // The wall clock is a day later on each day. Each seventh day, it is wrong by a month.
        let clock = TestClock()
        clock.advance(by: .seconds(day * 86_400 + (day % 7 == 0 ? 2_592_000 : 0)))
        configuration.use(clock)
        storage = StorageRouter(configuration: configuration)
    }

    /// - Parameter words: A verb, the folder of the machine, the day, for some verbs a number, and `planted` for a mistake.
    static func main(_ words: [String]) async -> Int32 {
        guard words.count >= 3, let day = Int(words[2]) else { return 64 }
        let count = words.count > 3 ? Int(words[3]) ?? 0 : 0
        do {
            let work = try AgeWork(root: words[1], day: day, isPlanted: words.last == "planted")
            switch words[0] {
            case "first": try await work.begin(records: count)
            case "day": try await work.live(sets: count)
            case "last": try await work.end(records: count)
            case "check": try await work.check(records: count)
            default: try await work.visit(words[0])
            }
            return 0
        } catch {
            FileHandle.standardError.write(Data("\(words.joined(separator: " ")): \(error)\n".utf8))
            return 1
        }
    }

    // MARK: The life

    private func begin(records: Int) async throws {
        try await storage.set("moved", for: Release.key("moving \(day)"))
        for begin in stride(from: 0, to: records, by: 1_000) {
            try await storage.set(notes(begin..<min(begin + 1_000, records)), in: release.olderNotes)
        }
        try await storage.shutdown()
    }

    private func notes(_ numbers: Range<Int>) -> [Note] { numbers.map { Note(id: "n\($0)", text: "the text of a note") } }

    /// Lives through one day with one release. A killed day can be repeated.
    private func live(sets: Int) async throws {
        // The release before this one runs once more, and stores values at their legacy locations.
        for name in Release.contestedNames { try await storage.set("older \(day)", for: Release.key(name, Release.older)) }
        let report = try await storage.registerCatalog(release, migrateImmediately: true)
        // A full quarantine refuses the values that lose.
        if let row = report.failed.first(where: { $0.errorCode != StorageError.noSpace }) {
            throw CocoaError(.featureUnsupported, userInfo: [NSDebugDescriptionErrorKey: "\(row)"])
        }
        let settings = release.settings
        for turn in 0..<max(1, sets / settings.count) {
            try await storage.batch { batch in
                for (number, key) in settings.enumerated() where number != 2 { batch.set("value \(turn) of day \(day)", for: key) }
            }
        }
        try await storage.set("plain \(day)", for: release.list)
        for number in 0..<10 { try await storage.set(Note(id: "n\(number)", text: "day \(day)"), in: release.notes) }
        for number in 5..<10 { try await storage.remove("n\(number)", in: release.notes) }
        try await storage.remove(settings[2])
        try await storage.rotateDataKey(of: Release.domain)
        if day % 5 == 0 {
            try await storage.rotateKey()
            try await storage.deleteOlderKeys()
            let backup = URL(filePath: "\(root)/backup")
            try? FileManager.default.removeItem(at: backup)
            try await storage.backup(to: backup, openedBy: [.passphrase("the passphrase of a test")])
        }
        // Every other day, the program ends without closing its stores.
        if day % 2 == 0 { try await storage.shutdown() }
    }

    /// Brings a machine into the state that is the same for each history.
    private func end(records: Int) async throws {
        try await storage.registerCatalog(release, migrateImmediately: true)
        for key in release.settings { try await storage.set("the last value", for: key) }
        try await storage.set("the last value", for: release.list)
        try await storage.set(notes(0..<min(10, records)), in: release.notes)
        for key in release.contested { try await storage.set("the last value", for: key) }
        try await storage.set("the pending value", for: Release.key("pending", Release.older))
        try await storage.shutdown()
    }

    /// Requires that nothing was lost.
    private func check(records: Int) async throws {
        let values = try await [storage.get(release.moving), storage.get(release.list)] + storage.values(release.contested)
        let pending = try await storage.get(release.pending)
        let settings = try await storage.values(release.settings)
        let count = try await storage.count(in: release.notes)
        guard values == ["moved"] + Array(repeating: "the last value", count: 3), pending == "the pending value",
            settings == Array(repeating: "the last value", count: 20), count == records
        else { throw CocoaError(.fileReadCorruptFile, userInfo: [NSDebugDescriptionErrorKey: "\(values) \(pending) \(count)"]) }
    }

    // MARK: What is counted

    private func visit(_ verb: String) async throws {
        switch verb {
        case "nothing": return
        case "get": _ = try await storage.get(release.settings[0])
        case "move": _ = try await storage.get(release.pending)
        case "sweep": try await storage.registerCatalog(release, migrateImmediately: true)
        case "doctor":
            // The tool ends with an error if it finds something, such as a quarantined value.
            let command = try LocalDataTool.parseAsRoot(["doctor", "--root", "\(root)/root", "--app-id", Self.application])
            if var command = command as? any AsyncParsableCommand { try? await command.run() }
        default: throw CocoaError(.featureUnsupported)
        }
    }
}

extension StorageRouter {
    fileprivate func values(_ keys: [StorageKey<String>]) async throws -> [String] {
        var values: [String] = []
        for key in keys { values.append(try await get(key)) }
        return values
    }
}
