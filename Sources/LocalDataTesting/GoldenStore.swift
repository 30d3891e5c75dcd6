import Foundation
public import LocalData

/// Stores that earlier releases wrote, kept as fixtures. With one line, a later release proves that it still reads all of them.
///
/// ```swift
/// // Once, when 1.0 is released:
/// try await GoldenStore.record("1.0", of: AppKeys(), in: "Fixtures/Releases") { router in
///     try await router.set("abc", for: .token)
/// }
///
/// // In every later release:
/// @Test func `data of earlier releases can be read`() async throws {
///     try await GoldenStore.replay(AppKeys(), in: "Fixtures/Releases")
/// }
/// ```
///
/// A fixture is a folder. `root` has the files of the release, with the key file that opens them; `release.json` has the settings to open them; `expected.json` has
/// the values that are read today of keys without protection. `sealed` has the values of the others, and the content of the keyring, sealed with a key file of its
/// own. Only the expected values are ever rewritten.
///
/// A golden store has a keyring of its own, in memory: the session's keyring is neither read nor written. The key files protect nothing but the fixture: do not
/// record real data.
public enum GoldenStore {
    /// The settings that open a recorded store.
    struct Release: Codable {
        var applicationID: String
        var userDefaultsName: String
    }

    /// The values in a recorded store, by key name.
    typealias Values = [String: StoredDocument]

    /// What is read of a recorded store.
    private struct Reading {
        var values: Values = [:]
        /// The names of the keys that protect their values.
        var secrets: Set<String> = []
    }

    /// Records the data of a release: runs a closure with a router over an empty folder, and keeps the files.
    /// - Parameters:
    ///   - release: The name of the release and of its folder.
    ///   - catalog: The keys whose values a replay compares.
    ///   - folder: The folder of all recorded releases, relative to the test's file.
    ///   - file: The test's file.
    ///   - configure: Changes the router's configuration. Pass the same closure to a replay.
    ///   - fill: Stores the data of the release, in any domain.
    /// - Throws: ``FixtureMismatch`` if the release was recorded before; an error of the closure, or of reading its values. Nothing is recorded then.
    public static func record(
        _ release: String, of catalog: some StorageKeyCatalog, in folder: String, relativeTo file: String = #filePath,
        configure: (inout StorageConfiguration) -> Void = { _ in }, _ fill: (StorageRouter) async throws -> Void
    ) async throws {
        let place = FixtureFolder(folder, relativeTo: file).release(release)
        guard !FileManager.default.fileExists(atPath: place.path) else {
            throw FixtureMismatch("The release \(release) is already recorded in \(folder), and a release does not change.", [])
        }
        try await FixtureFolder.withTemporary { temporary in
            let root = temporary.appending(path: "root")
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            var configuration = StorageConfiguration(root: root, applicationID: "golden")
            configuration.userDefaultsName = "golden"
            configure(&configuration)
            let keyring = GoldenKeyring()
            keyring.replaceKeyring(in: &configuration)
            let router = StorageRouter(configuration: configuration)
            do { try await fill(router) } catch {
                try? await router.shutdown()
                throw error
            }
            try await router.shutdown()
            try FixtureFolder.removeMachineFiles(in: root)
            let facts = Release(applicationID: configuration.applicationID, userDefaultsName: configuration.userDefaultsName)
            try FixtureFolder.write(facts, to: temporary.appending(path: "release.json"))
            try await sealed(temporary).write(keyring: keyring.services, values: [:])
            // Reading may migrate a value, so it works on a copy.
            let values = try await read(release, at: temporary, with: catalog, configure: configure) { _, _ in }
            try await write(values, to: temporary)
            try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: temporary, to: place)
        }
    }

    /// Opens a copy of every recorded release with today's keys, sweeps it, and compares the values with the expected ones.
    ///
    /// If the differences are intended, because the values have another shape today, `LOCALDATA_RECORD=1` writes them to `expected.json`. Review and commit the file.
    /// - Parameters:
    ///   - catalog: Today's keys.
    ///   - folder: The folder of all recorded releases, relative to the test's file. A folder without a release is an error.
    ///   - file: The test's file.
    ///   - isRecording: Whether to record the values instead of comparing them.
    ///   - check: Runs further checks on the router of each release, after the sweep.
    ///   - configure: Changes the configuration of every router.
    /// - Throws: ``FixtureMismatch``; an error of the sweep, of reading a value, or of `check`.
    public static func replay(
        _ catalog: some StorageKeyCatalog, in folder: String, relativeTo file: String = #filePath,
        isRecording: Bool = FixtureMismatch.isRecording,
        check: (_ release: String, StorageRouter) async throws -> Void = { _, _ in },
        configure: (inout StorageConfiguration) -> Void = { _ in }
    ) async throws {
        let fixtures = FixtureFolder(folder, relativeTo: file)
        let releases = try fixtures.releases()
        guard !releases.isEmpty else { throw FixtureMismatch("No release is recorded in \(folder).", []) }
        var problems: [String] = []
        for release in releases {
            let place = fixtures.release(release)
            let values = try await read(release, at: place, with: catalog, configure: configure, check: check)
            if isRecording {
                try await write(values, to: place)
            } else {
                problems += differences(values, from: try await expected(at: place), in: release)
            }
        }
        if !problems.isEmpty {
            throw FixtureMismatch(
                "Data of earlier releases does not read as expected. If you intend this, run this test with LOCALDATA_RECORD=1:",
                problems)
        }
    }

    /// Reads a copy of a recorded store twice: after a sweep, and in a second launch that has nothing left to migrate.
    private static func read(
        _ release: String, at place: URL, with catalog: some StorageKeyCatalog, configure: (inout StorageConfiguration) -> Void,
        check: (_ release: String, StorageRouter) async throws -> Void
    ) async throws -> Reading {
        let facts = try FixtureFolder.read(Release.self, from: place.appending(path: "release.json"))
        return try await FixtureFolder.withTemporary { temporary in
            let root = temporary.appending(path: "root")
            try FixtureFolder.copyPrivately(place.appending(path: "root"), to: root)
            var configuration = StorageConfiguration(root: root, applicationID: facts.applicationID)
            configuration.userDefaultsName = facts.userDefaultsName
            configure(&configuration)
            GoldenKeyring(try await sealed(place).read().keyring).replaceKeyring(in: &configuration)
            var readings: [Reading] = []
            for _ in 1...2 {
                let router = StorageRouter(configuration: configuration)
                do {
                    try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete()
                    readings.append(try await reading(catalog, router))
                    try await check(release, router)
                } catch {
                    try? await router.shutdown()
                    throw error
                }
                try await router.shutdown()
            }
            let changed = differences(readings[1], from: readings[0].values, in: release)
            if !changed.isEmpty {
                throw FixtureMismatch("A second launch reads other values of the release \(release) than the first:", changed)
            }
            return readings[1]
        }
    }

    private static func reading(_ catalog: some StorageKeyCatalog, _ router: StorageRouter) async throws -> Reading {
        var reading = Reading()
        let keys = Dictionary(grouping: catalog.allKeys, by: \.name)
        for key in catalog.allKeys {
            let name = keys[key.name]?.count == 1 ? key.name : "\(key.name) in \(key.domain)"
            reading.values[name] = try await key.document(router)
            if try router.protection(of: key) > .plain { reading.secrets.insert(name) }
        }
        return reading
    }

    // MARK: Expected values

    private static func sealed(_ place: URL) -> SealedFixture { SealedFixture(place: place.appending(path: "sealed")) }

    /// Writes the expected values: those of protected keys are sealed.
    private static func write(_ reading: Reading, to place: URL) async throws {
        let keyring = try await sealed(place).read().keyring
        let secrets = reading.values.filter { reading.secrets.contains($0.key) }
        if !keyring.isEmpty || !secrets.isEmpty { try await sealed(place).write(keyring: keyring, values: secrets) }
        try FixtureFolder.write(
            reading.values.filter { !reading.secrets.contains($0.key) }, to: place.appending(path: "expected.json"))
    }

    /// The expected values. Those of protected keys are in `expected.json` too if an earlier version of this library recorded them.
    private static func expected(at place: URL) async throws -> Values {
        let plain = try FixtureFolder.read(Values.self, from: place.appending(path: "expected.json"))
        return plain.merging(try await sealed(place).read().values) { $1 }
    }

    /// What differs, by name; values of protected keys are not shown.
    private static func differences(_ reading: Reading, from expected: Values, in release: String) -> [String] {
        Set(reading.values.keys).union(expected.keys).sorted().compactMap { name in
            switch (reading.values[name], expected[name]) {
            case (nil, _): "\(release)/\(name) had a value and is absent"
            case (_, nil): "\(release)/\(name) was absent and has a value"
            case (let value?, let known?) where value != known:
                reading.secrets.contains(name)
                    ? "\(release)/\(name) has another value, which is protected and not shown"
                    : "\(release)/\(name) was \(text(known)) and is \(text(value))"
            default: nil
            }
        }
    }

    /// The text of a value that is not protected.
    private static func text(_ document: StoredDocument) -> String {
        (try? document.json()).map { String(decoding: $0, as: UTF8.self) } ?? "\(document.root)"
    }
}
