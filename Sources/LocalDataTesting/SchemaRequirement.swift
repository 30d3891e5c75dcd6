public import Foundation
public import LocalData

/// Requires that a catalog matches its recorded snapshot: one line in a test keeps a release from changing stored data by accident.
///
/// ```swift
/// @Test func `stored data has the recorded shape`() throws {
///     try requireSchemaUnchanged(AppKeys(), snapshot: "Fixtures/AppKeys.schema.json")
/// }
/// ```
///
/// If there is no snapshot, the function writes one and fails, so that you review and commit it. Three changes need a higher version, with steps from every version that
/// was ever recorded: a property of another type, a removed property, and a new property that is neither optional nor has a default. To record a harmless change (a new
/// key, a new optional property, a version that was raised with its steps), run the test with `LOCALDATA_RECORD=1`. A harmful change is never recorded.
/// - Parameters:
///   - catalog: The catalog.
///   - path: The snapshot, relative to the test's file.
///   - file: The test's file.
///   - isRecording: Whether harmless changes are written into the snapshot.
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

/// The error of a fixture that does not match.
public struct FixtureMismatch: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The problem and the remedy.
    public let summary: String
    /// The differences, one text for each.
    public let differences: [String]

    init(_ summary: String, _ differences: [String]) {
        self.summary = summary
        self.differences = differences
    }

    /// The summary, then one line for each difference.
    public var errorDescription: String? { description }

    /// The summary, then one line for each difference.
    public var description: String { ([summary] + differences.map { "  \($0)" }).joined(separator: "\n") }

    /// Whether this run records fixtures: `LOCALDATA_RECORD=1`.
    public static var isRecording: Bool { ProcessInfo.processInfo.environment["LOCALDATA_RECORD"] == "1" }
}
