public import Foundation
public import LocalData

/// Requires that a catalog matches its recorded snapshot. One line in a test prevents a release from changing stored data by accident.
///
/// ```swift
/// @Test func `stored data has the recorded shape`() throws {
///     try requireSchemaUnchanged(AppKeys(), snapshot: "Fixtures/AppKeys.schema.json")
/// }
/// ```
///
/// If there is no snapshot, the function writes one and throws. Review the file and commit it.
///
/// Three changes require a higher version, with migration steps from every recorded version:
///
/// - a property of another type,
/// - a removed property,
/// - a new property that is neither optional nor has a default.
///
/// Other changes are harmless: a new key, a new optional property, or a higher version with its steps. To record a harmless change,
/// run the test with `LOCALDATA_RECORD=1`. A harmful change is never recorded.
/// - Parameters:
///   - catalog: The current keys.
///   - path: The snapshot file, relative to the test's file.
///   - file: The test's file.
///   - isRecording: Whether harmless changes are written to the snapshot.
/// - Throws: ``FixtureMismatch``, which names each property and the remedy; an error of reading or writing the file.
public func requireSchemaUnchanged(
    _ catalog: some StorageKeyCatalog, snapshot path: String, relativeTo file: String = #filePath,
    isRecording: Bool = FixtureMismatch.isRecording
) throws {
    let place = URL(filePath: path, relativeTo: URL(filePath: file).deletingLastPathComponent())
    let now = CatalogSnapshot(catalog)
    guard FileManager.default.fileExists(atPath: place.path) else {
        try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try now.json().write(to: place)
        throw FixtureMismatch("The snapshot \(path) was created. Review it and commit it.", [])
    }
    let recorded = try CatalogSnapshot(json: try Data(contentsOf: place))
    let differences = SchemaDifferences(catalog.allKeys.map(EntityShape.init), catalog: catalog.id, recorded: recorded)
    if !differences.problems.isEmpty {
        throw FixtureMismatch("The stored shape of \(catalog.id) changed, and older values could not be read:", differences.problems)
    }
    let next = now.keepingHistory(of: recorded)
    guard next != recorded else { return }
    guard isRecording else {
        throw FixtureMismatch(
            "The stored shape of \(catalog.id) changed without harm. Run this test with LOCALDATA_RECORD=1 to record it:", differences.news)
    }
    try next.json().write(to: place)
}

/// The error for a fixture (a recorded snapshot or store) that differs from the current code or data.
///
/// ```swift
/// @Test func `a changed shape is reported property by property`() throws {
///     do { try requireSchemaUnchanged(AppKeys(), snapshot: "Fixtures/AppKeys.schema.json") } catch let mismatch as FixtureMismatch {
///         print(mismatch.summary)  // the problem and the remedy
///         for difference in mismatch.differences { print(difference) }  // "notes.stars was integer and is string"
///     }
/// }
/// ```
public struct FixtureMismatch: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The problem and the remedy.
    public let summary: String
    /// The differences, one string for each.
    public let differences: [String]

    init(_ summary: String, _ differences: [String]) {
        self.summary = summary
        self.differences = differences
    }

    /// The summary, then one line for each difference.
    public var errorDescription: String? { description }

    /// The summary, then one line for each difference.
    public var description: String { ([summary] + differences.map { "  \($0)" }).joined(separator: "\n") }

    /// Whether this test run records fixtures: the environment contains `LOCALDATA_RECORD=1`.
    public static var isRecording: Bool { ProcessInfo.processInfo.environment["LOCALDATA_RECORD"] == "1" }
}
