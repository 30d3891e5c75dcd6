import Foundation
import LocalData
import LocalDataTesting

/// The work of the commands for one catalog.
struct CatalogAuthoring: Sendable {
    let command: AuthoringCommand
    let names: CatalogNames
    let recorded: RecordedCatalog

    // MARK: Checking

    /// Fails if the catalog differs from its snapshot, or if its newest version has no recorded values.
    func check(_ catalog: some StorageKeyCatalog, _ report: inout AuthoringReport) throws {
        guard let snapshot = try recorded.snapshot() else {
            return report.fail("\(names.title) was never recorded. \(Self.remedy)")
        }
        let now = CatalogSnapshot(catalog)
        guard now.keepingHistory(of: snapshot) == snapshot else {
            report.fail("\(names.title) differs from its snapshot. \(Self.remedy)")
            return show(differences(catalog, snapshot), &report)
        }
        guard let newest = try recorded.releases().last, try recorded.shapes(of: newest) == now else {
            return report.fail("The newest version of \(names.title) has no fixture. \(Self.remedy)")
        }
        report.say("\(names.title): release \(newest) is recorded.")
    }

    private static let remedy = "Run: swift package --allow-writing-to-package-directory localdata make-migrations"

    private func differences(_ catalog: some StorageKeyCatalog, _ snapshot: CatalogSnapshot) -> [SchemaChange] {
        SchemaDifferences(catalog.allKeys.map(EntityShape.init), catalog: names.id, recorded: snapshot).changes
    }

    private func show(_ changes: [SchemaChange], _ report: inout AuthoringReport) {
        for change in changes { report.say("  \(SwiftText.line(change.effect == .refused ? change.description : change.text))") }
    }

    // MARK: Making migrations

    /// Writes the steps and tests that the changes of the catalog need. Without such a change, records the catalog.
    func make(
        _ catalog: some StorageKeyCatalog, _ report: inout AuthoringReport, configure: (inout StorageConfiguration) -> Void,
        fill: (StorageRouter) async throws -> Void
    ) async throws {
        guard let snapshot = try recorded.snapshot() else {
            report.say("\(names.title) is new.")
            return try await record(catalog, after: nil, &report, configure: configure, fill: fill)
        }
        let changes = differences(catalog, snapshot)
        report.say(changes.isEmpty ? "\(names.title) has no changes." : "The changes of \(names.title):")
        show(changes, &report)
        guard !changes.contains(where: { $0.effect == .refused }) else {
            return report.fail("\(names.title) has changes that no step can convert. Nothing was written.")
        }
        let steps = MigrationStep.all(catalog.allKeys.map(EntityShape.init), changes, recorded: snapshot)
        let opaque = steps.filter { !$0.changesDocuments }
        guard opaque.isEmpty else {
            return report.fail(
                "No step can change the values of \(opaque.map(\.title).joined(separator: ", ")): they have a custom serializer. Convert them with moved(from:)."
            )
        }
        if steps.isEmpty {
            try await record(catalog, after: snapshot, &report, configure: configure, fill: fill)
        } else {
            try await write(steps, &report)
        }
    }

    /// Writes the files for steps that are not written yet.
    private func write(_ steps: [MigrationStep], _ report: inout AuthoringReport) async throws {
        guard let previous = try recorded.releases().last else {
            return report.fail(
                "\(names.title) needs a step, but the values of its earlier version are not recorded. Check out the code of that version and record it there. \(Self.remedy)"
            )
        }
        let target = try command.layout.sources(module: names.module, named: command.target)
        let sources = URL(filePath: target.folder, directoryHint: .isDirectory).appending(path: "Migrations")
        let type = try existingSteps(of: previous + 1, in: sources) ?? names.steps(of: previous + 1, named: command.name)
        let source = StepSource(type: type, catalog: names, release: previous + 1, steps: steps)
        let tests = try testFolder(of: target)
        let values = try await GoldenStore.expectedValues(of: "\(previous)", in: recorded.folder)
        let files = [
            GeneratedFile(
                file: sources.appending(path: "\(type).swift"), text: source.text,
                declarations: steps.map { ("func \($0.function)", source.function($0)) }),
            GeneratedFile(
                file: tests.appending(path: "\(type)Tests.swift"),
                text: try testSource(tests).steps(source, previous: previous, plain: values.plain, protected: values.protected)),
        ]
        try write(files, &report)
        report.say("Next:")
        for step in steps { report.say("  \(step.instruction(in: type))") }
        report.say(
            "  Write \(type), and the expected values in \(type)Tests. Then run this command again: it records release \(previous + 1).")
    }

    /// The name of the steps of a release that an earlier run wrote, perhaps with another `--name`; nil if there are none.
    private func existingSteps(of release: Int, in sources: URL) throws -> String? {
        guard FileManager.default.fileExists(atPath: sources.path) else { return nil }
        let base = names.steps(of: release, named: nil)
        for file in try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted() {
            guard file.hasSuffix(".swift"), file.hasPrefix(base) else { continue }
            let name = file.dropLast(".swift".count)
            if name.dropFirst(base.count).first?.isNumber != true { return String(name) }
        }
        return nil
    }

    private func testFolder(of sources: PackageLayout.Target) throws -> URL {
        let tests = try command.layout.tests(of: sources, named: command.tests)
        return URL(filePath: tests.folder, directoryHint: .isDirectory).appending(path: "Migrations")
    }

    private func testSource(_ tests: URL) -> TestSource {
        TestSource(catalog: names, folder: Self.path(of: recorded.folder, from: tests))
    }

    /// Returns the path of a folder, relative to another one.
    static func path(of folder: URL, from other: URL) -> String {
        let (target, start) = (folder.standardizedFileURL.pathComponents, other.standardizedFileURL.pathComponents)
        let shared = zip(target, start).prefix { $0 == $1 }.count
        return (Array(repeating: "..", count: start.count - shared) + target.dropFirst(shared)).joined(separator: "/")
    }

    /// Writes the files that are missing. If a file cannot be kept, none is written.
    private func write(_ files: [GeneratedFile], _ report: inout AuthoringReport) throws {
        let missing = try files.map { ($0, try $0.isMissing()) }
        for (file, isMissing) in missing {
            let path = Self.path(of: file.file, from: URL(filePath: command.layout.package, directoryHint: .isDirectory))
            guard isMissing else {
                report.say("Kept \(path).")
                continue
            }
            if !command.isDryRun { try file.write() }
            report.say("\(command.isDryRun ? "Would write" : "Wrote") \(path).")
        }
    }

    // MARK: Recording

    /// Records the snapshot and the values of the catalog, after the values of every earlier release were read.
    private func record(
        _ catalog: some StorageKeyCatalog, after snapshot: CatalogSnapshot?, _ report: inout AuthoringReport,
        configure: (inout StorageConfiguration) -> Void, fill: (StorageRouter) async throws -> Void
    ) async throws {
        let now = CatalogSnapshot(catalog)
        let newest = try recorded.releases().last
        let release = (newest ?? 0) + 1
        let isRecorded = try newest.flatMap { try recorded.shapes(of: $0) } == now
        let target = try command.layout.sources(module: names.module, named: command.target)
        let tests = try testFolder(of: target)
        let test = GeneratedFile(
            file: tests.appending(path: "\(names.identifier)ReleaseTests.swift"), text: testSource(tests).releases)
        let next = snapshot.map { now.keepingHistory(of: $0) } ?? now
        if newest != nil, !isRecorded { try await readReleases(catalog, &report, configure: configure) }
        try write([test], &report)
        if isRecorded, next == snapshot { return report.say("Release \(release - 1) is recorded.") }
        guard !command.isDryRun else { return report.say("Would record release \(release).") }
        try FileManager.default.createDirectory(at: recorded.folder, withIntermediateDirectories: true)
        if next != snapshot { try next.json().write(to: recorded.snapshotFile, options: .atomic) }
        guard !isRecorded else { return report.say("Recorded the snapshot.") }
        var unsampled: [String: String] = [:]
        let keys = zip(CatalogSnapshot.named(catalog.allKeys.map(EntityShape.init)).map(\.0), catalog.allKeys)
        try await recorded.record(release, now) { folder in
            try await GoldenStore.record("\(release)", of: catalog, in: folder, configure: configure) { router in
                for (name, entry) in keys {
                    do {
                        if try await !SampleValues.write(entry, to: router) { unsampled[name] = "no sample fits its type" }
                    } catch { unsampled[name] = "\(error)" }
                }
                try await fill(router)
            }
        }
        report.say(
            "Recorded release \(release) in \(Self.path(of: recorded.folder, from: URL(filePath: command.layout.package)))/\(release).")
        let values = try await GoldenStore.expectedValues(of: "\(release)", in: recorded.folder)
        for (name, problem) in unsampled.sorted(by: { $0.key < $1.key }) where values.plain[name] == nil && !values.protected.contains(name)
        {
            report.say(
                "  The release has no value of \(SwiftText.line("\(name): \(problem)")). Store one with the parameter `fill` of `MigrationAuthoring.main`."
            )
        }
        report.say("  Review and commit these files.")
    }

    /// Reads the values of every recorded release with the current keys, and records the values that the steps have changed.
    private func readReleases(
        _ catalog: some StorageKeyCatalog, _ report: inout AuthoringReport, configure: (inout StorageConfiguration) -> Void
    ) async throws {
        do {
            try await GoldenStore.replay(catalog, in: recorded.folder.path, isRecording: false, configure: configure)
        } catch let mismatch as FixtureMismatch {
            report.say("Values of earlier releases that the steps change:")
            for difference in mismatch.differences { report.say("  \(SwiftText.line(difference))") }
            guard !command.isDryRun else { return }
            try await GoldenStore.replay(catalog, in: recorded.folder.path, isRecording: true, configure: configure)
        } catch {
            throw AuthoringRefusal("The values of an earlier release cannot be read, so nothing was recorded: \(error)")
        }
    }
}
