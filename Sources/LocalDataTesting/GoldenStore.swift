package import Foundation
public import LocalData

/// Stores that earlier releases wrote, kept as fixtures. A test proves in one line that the current release still reads
/// all of them.
///
/// Record a store once, when a release is published. The closure stores the data of the release.
///
/// ```swift
/// @Test(.enabled(if: FixtureMismatch.isRecording)) func `version 1 is recorded`() async throws {
///     try await GoldenStore.record("1.0", of: AppKeys(), in: "Fixtures/Releases") { storage in
///         try await storage.set("abc", for: .apiToken)
///     }
/// }
/// ```
///
/// Every later release reads the recorded stores:
///
/// ```swift
/// @Test func `data of earlier releases can be read`() async throws {
///     try await GoldenStore.replay(AppKeys(), in: "Fixtures/Releases")  // throws FixtureMismatch if a value differs
/// }
/// ```
///
/// Each release is one folder:
///
/// - `root` contains the files that the release wrote, including the key file that opens them.
/// - `release.json` contains the settings that open the store.
/// - `expected.json` contains the expected values of keys without protection.
/// - `sealed` contains the expected values of protected keys and the content of the keyring. Both are encrypted with a
///   separate key file.
///
/// Only the expected values are ever rewritten.
///
/// A golden store uses a keyring in memory. The session's keyring is neither read nor written. The key files are part
/// of the fixture, so anyone can decrypt it. Do not record real data.
public enum GoldenStore {
    /// The settings that open a recorded store.
    struct Release: Codable {
        var applicationID: String
        var userDefaultsName: String
    }

    /// The values in a recorded store, by key name.
    typealias Values = [String: StoredDocument]

    /// The values that were read from a recorded store.
    private struct Reading {
        var values: Values = [:]
        /// The names of the keys whose values are protected.
        var secrets: Set<String> = []
    }

    /// Records the data of a release: runs a closure with a router over an empty folder, then keeps the files as a fixture.
    ///
    /// ```swift
    /// @Test(.enabled(if: FixtureMismatch.isRecording)) func `version 1 is recorded`() async throws {
    ///     try await GoldenStore.record("1.0", of: AppKeys(), in: "Fixtures/Releases") { storage in
    ///         try await storage.set("abc", for: .apiToken)
    ///     }
    /// }
    /// ```
    /// - Parameters:
    ///   - release: The name of the release. It is also the name of the folder.
    ///   - catalog: The keys whose values a replay compares.
    ///   - folder: The folder of all recorded releases, relative to the test's file.
    ///   - file: The test's file.
    ///   - configure: Changes the router's configuration. Pass the same closure to the replay.
    ///   - fill: Stores the data of the release, in any domain.
    /// - Throws: ``FixtureMismatch`` if the release is already recorded; an error of the closure or of reading its values.
    ///   After an error, nothing is recorded.
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
            try await SealedFixture.withRouter(configuration, fill)
            try FixtureFolder.removeMachineFiles(in: root)
            let facts = Release(applicationID: configuration.applicationID, userDefaultsName: configuration.userDefaultsName)
            try FixtureFolder.write(facts, to: temporary.appending(path: "release.json"))
            try await sealed(temporary).write(keyring: keyring.services, values: [:])
            // Reading may migrate a value, so read a copy and leave the recorded files unchanged.
            let values = try await read(release, at: temporary, with: catalog, configure: configure) { _, _ in }
            try await write(values, to: temporary)
            try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: temporary, to: place)
        }
    }

    /// Opens a copy of every recorded release with the current keys. Sweeps it (migrates all values), and compares its
    /// values with the expected ones.
    ///
    /// If differences are intended, run the test with `LOCALDATA_RECORD=1`. It writes the current values to `expected.json`,
    /// and those of protected keys to `sealed`. Review and commit these files.
    ///
    /// ```swift
    /// @Test func `data of earlier releases can be read`() async throws {
    ///     try await GoldenStore.replay(AppKeys(), in: "Fixtures/Releases")  // throws FixtureMismatch if a value differs
    /// }
    /// ```
    /// - Parameters:
    ///   - catalog: The current keys.
    ///   - folder: The folder of all recorded releases, relative to the test's file. A folder without a release is an error.
    ///   - file: The test's file.
    ///   - isRecording: Whether to record the values instead of comparing them.
    ///   - check: Runs further checks on the router of each release, after the sweep.
    ///   - configure: Changes the configuration of every router.
    /// - Throws: ``FixtureMismatch`` if a value differs or no release is recorded; an error of the sweep, of a read, or of `check`.
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
        var recorded: [(values: Reading, place: URL)] = []
        for release in releases {
            let place = fixtures.release(release)
            let values = try await read(release, at: place, with: catalog, configure: configure, check: check)
            if isRecording {
                recorded.append((values, place))
            } else {
                problems += differences(values, from: try await expected(at: place), in: release)
            }
        }
        // If one release cannot be read, no expected values are changed.
        for (values, place) in recorded { try await write(values, to: place) }
        if !problems.isEmpty {
            throw FixtureMismatch(
                "Data of earlier releases does not read as expected. If you intend this, run this test with LOCALDATA_RECORD=1:",
                problems)
        }
    }

    /// Opens a copy of one recorded release with the current keys, sweeps it (migrates all values), and returns its values.
    ///
    /// Use it to test a migration step: compare a value with the one that the step should make of it. The recorded files
    /// are not changed.
    /// - Parameters:
    ///   - release: The name of the release.
    ///   - catalog: The current keys.
    ///   - folder: The folder of all recorded releases, relative to the test's file.
    ///   - file: The test's file.
    ///   - configure: Changes the router's configuration. Pass the closure that the recording used.
    /// - Returns: The values by the names of their keys. The value of a collection is an object with all records by their
    ///   ids. If keys in several domains share a name, the domain is appended: "token in keychain".
    /// - Throws: ``FixtureMismatch`` if the release is not recorded; an error of the sweep or of a read.
    public static func read(
        _ release: String, of catalog: some StorageKeyCatalog, in folder: String, relativeTo file: String = #filePath,
        configure: (inout StorageConfiguration) -> Void = { _ in }
    ) async throws -> [String: StoredDocument] {
        let fixtures = FixtureFolder(folder, relativeTo: file)
        guard try fixtures.releases().contains(release) else {
            throw FixtureMismatch("The release \(release) is not recorded in \(folder).", [])
        }
        return try await read(release, at: fixtures.release(release), with: catalog, configure: configure) { _, _ in }.values
    }

    /// Returns the expected values of a recorded release, without reading its stores.
    /// - Returns: The values of keys without protection, and the names of protected keys that have a value. Both are empty
    ///   if the release is not recorded.
    package static func expectedValues(
        of release: String, in folder: URL
    ) async throws -> (plain: [String: StoredDocument], protected: Set<String>) {
        let place = folder.appending(path: release)
        guard FileManager.default.fileExists(atPath: place.appending(path: "expected.json").path) else { return ([:], []) }
        let plain = try FixtureFolder.read(Values.self, from: place.appending(path: "expected.json"))
        return (plain, Set(try await sealed(place).read().values.keys))
    }

    /// Reads a copy of a recorded store in two launches: with two routers, one after the other. The first launch sweeps
    /// and migrates; the second must read the same values.
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
                try await SealedFixture.withRouter(configuration) { router in
                    try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete()
                    readings.append(try await reading(catalog, router))
                    try await check(release, router)
                }
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

    /// Writes the expected values. The values of protected keys go into the sealed part of the fixture.
    private static func write(_ reading: Reading, to place: URL) async throws {
        let keyring = try await sealed(place).read().keyring
        let secrets = reading.values.filter { reading.secrets.contains($0.key) }
        if !keyring.isEmpty || !secrets.isEmpty { try await sealed(place).write(keyring: keyring, values: secrets) }
        try FixtureFolder.write(
            reading.values.filter { !reading.secrets.contains($0.key) }, to: place.appending(path: "expected.json"))
    }

    /// Reads the expected values of all keys.
    ///
    /// Earlier versions of LocalData recorded the values of protected keys in `expected.json`, so the result merges both parts.
    private static func expected(at place: URL) async throws -> Values {
        let plain = try FixtureFolder.read(Values.self, from: place.appending(path: "expected.json"))
        return plain.merging(try await sealed(place).read().values) { $1 }
    }

    /// Describes each difference in one line, sorted by key name. Values of protected keys are not shown.
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

    /// The text of an unprotected value.
    private static func text(_ document: StoredDocument) -> String {
        (try? document.json()).map { String(decoding: $0, as: UTF8.self) } ?? "\(document.root)"
    }
}
