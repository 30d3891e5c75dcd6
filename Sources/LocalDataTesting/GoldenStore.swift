import Foundation
public import LocalData

/// Stores as a release wrote them, kept as fixtures: a later release proves with one line that it still reads them all.
///
/// ```swift
/// // Once, when 1.0 is released:
/// try await GoldenStore.record("1.0", of: AppKeys(), in: "Fixtures/Releases") { router in
///     try await router.set("abc", for: .token)
/// }
///
/// // In every later release:
/// @Test func `what earlier releases stored is read`() async throws {
///     try await GoldenStore.replay(AppKeys(), in: "Fixtures/Releases")
/// }
/// ```
///
/// A fixture is a folder: `root` has the files as the release left them, with the key file that opens them, `release.json` what is needed to open them, and `expected.json`
/// the values that are read today. Only the last is ever written again. The key in it protects nothing but the fixture: do not record real data.
public enum GoldenStore {
    /// What is needed to open a recorded store.
    struct Release: Codable {
        var applicationID: String
        var userDefaultsName: String
    }

    /// The values that are read from a recorded store, by the names of their keys.
    typealias Values = [String: StoredDocument]

    /// Records what a release writes: runs a closure with a router over an empty folder, and keeps the files.
    /// - Parameters:
    ///   - release: The release's name, which becomes the folder's.
    ///   - catalog: The keys whose values are expected later.
    ///   - folder: The folder of all recorded releases, relative to the test's file.
    ///   - file: The test's file.
    ///   - configure: Changes the router's configuration. Applied to a replay, too, when it is given there.
    ///   - fill: Stores what the release stores, in property lists and databases. What is in the keyring cannot be kept.
    /// - Throws: ``FixtureMismatch`` when the release was recorded before; what the closure, or reading its values, throws. Nothing is kept then.
    public static func record(
        _ release: String, of catalog: some StorageKeyCatalog, in folder: String, relativeTo file: String = #filePath,
        configure: (inout StorageConfiguration) -> Void = { _ in }, _ fill: (StorageRouter) async throws -> Void
    ) async throws {
        let place = FixtureFolder(folder, relativeTo: file).release(release)
        guard !FileManager.default.fileExists(atPath: place.path) else {
            throw FixtureMismatch("The release \(release) is recorded in \(folder), and what was released does not change.", [])
        }
        try await FixtureFolder.withTemporary { temporary in
            let root = temporary.appending(path: "root")
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            var configuration = StorageConfiguration(root: root, applicationID: "golden")
            configuration.userDefaultsName = "golden"
            configure(&configuration)
            let router = StorageRouter(configuration: configuration)
            do { try await fill(router) } catch {
                try? await router.shutdown()
                throw error
            }
            try await router.shutdown()
            // Locks are of the machine, and empty; the ledger, on which no value depends, names its folders.
            for name in ["locks", "state/ledger.plist"] { try? FileManager.default.removeItem(at: root.appending(path: name)) }
            let facts = Release(applicationID: configuration.applicationID, userDefaultsName: configuration.userDefaultsName)
            try FixtureFolder.write(facts, to: temporary.appending(path: "release.json"))
            // Reading may bring a value over, so it is done with a copy.
            let values = try await read(release, at: temporary, with: catalog, configure: configure) { _, _ in }
            try FixtureFolder.write(values, to: temporary.appending(path: "expected.json"))
            try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: temporary, to: place)
        }
    }

    /// Opens a copy of every recorded release with today's keys, brings it over in a sweep, and compares what is read with what is expected.
    ///
    /// Where the differences are meant - the values have another shape today - `LOCALDATA_RECORD=1` writes them into `expected.json`, to be looked at and committed.
    /// - Parameters:
    ///   - catalog: Today's keys.
    ///   - folder: The folder of all recorded releases, relative to the test's file. One without any is an error.
    ///   - file: The test's file.
    ///   - isRecording: Whether to write down what is read instead of comparing it.
    ///   - check: Looks at the router of each release itself, after the sweep.
    ///   - configure: Changes the configuration of every router.
    /// - Throws: ``FixtureMismatch``; what the sweep or reading a value meets; what `check` throws.
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
                try FixtureFolder.write(values, to: place.appending(path: "expected.json"))
            } else {
                let expected = try FixtureFolder.read(Values.self, from: place.appending(path: "expected.json"))
                problems += differences(values, from: expected, in: release)
            }
        }
        if !problems.isEmpty {
            throw FixtureMismatch(
                "What earlier releases stored is read otherwise than expected; if that is meant, record it by running this test with LOCALDATA_RECORD=1:",
                problems)
        }
    }

    /// Reads a copy of a recorded store twice: after a sweep, and in a second launch that has nothing to bring over.
    private static func read(
        _ release: String, at place: URL, with catalog: some StorageKeyCatalog, configure: (inout StorageConfiguration) -> Void,
        check: (_ release: String, StorageRouter) async throws -> Void
    ) async throws -> Values {
        let facts = try FixtureFolder.read(Release.self, from: place.appending(path: "release.json"))
        return try await FixtureFolder.withTemporary { temporary in
            let root = temporary.appending(path: "root")
            try FixtureFolder.copyPrivately(place.appending(path: "root"), to: root)
            var configuration = StorageConfiguration(root: root, applicationID: facts.applicationID)
            configuration.userDefaultsName = facts.userDefaultsName
            configure(&configuration)
            var readings: [Values] = []
            for _ in 1...2 {
                let router = StorageRouter(configuration: configuration)
                do {
                    try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete()
                    readings.append(try await values(catalog, router))
                    try await check(release, router)
                } catch {
                    try? await router.shutdown()
                    throw error
                }
                try await router.shutdown()
            }
            let changed = differences(readings[1], from: readings[0], in: release)
            if !changed.isEmpty { throw FixtureMismatch("A second launch reads the release \(release) otherwise than the first:", changed) }
            return readings[1]
        }
    }

    private static func values(_ catalog: some StorageKeyCatalog, _ router: StorageRouter) async throws -> Values {
        var values: Values = [:]
        let keys = Dictionary(grouping: catalog.allKeys, by: \.name)
        for key in catalog.allKeys {
            let name = keys[key.name]?.count == 1 ? key.name : "\(key.name) in \(key.domain)"
            values[name] = try await key.document(router)
        }
        return values
    }

    private static func differences(_ values: Values, from expected: Values, in release: String) -> [String] {
        Set(values.keys).union(expected.keys).sorted().compactMap { name in
            switch (values[name], expected[name]) {
            case (nil, _): "\(release)/\(name) was a value and is absent"
            case (_, nil): "\(release)/\(name) was absent and is a value"
            case (let value?, let known?) where value != known: "\(release)/\(name) was \(text(known)) and is \(text(value))"
            default: nil
            }
        }
    }

    /// Fixtures are made for this; no other value is ever shown.
    private static func text(_ document: StoredDocument) -> String {
        (try? document.json()).map { String(decoding: $0, as: UTF8.self) } ?? "\(document.root)"
    }
}
