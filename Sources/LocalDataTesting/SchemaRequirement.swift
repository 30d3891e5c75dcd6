import Foundation
public import LocalData

/// Requires that a catalog stores what its recorded snapshot says: one line in a test keeps a release from changing what is stored by accident.
///
/// ```swift
/// @Test func `what is stored has the recorded shape`() throws {
///     try requireSchemaUnchanged(AppKeys(), snapshot: "Fixtures/AppKeys.schema.json")
/// }
/// ```
///
/// Without a snapshot it writes one, and fails so that it is looked at and committed. A property that changes its type, goes, or comes without being optional or
/// having a default needs a higher version and steps from every version that was ever recorded. What does no harm - a new key, a new optional property, a version that
/// was raised with its steps - is recorded by running the test with `LOCALDATA_RECORD=1`; what does harm is not recorded in that way either.
/// - Parameters:
///   - catalog: The catalog.
///   - path: The snapshot, relative to the test's file.
///   - file: The test's file.
///   - isRecording: Whether harmless changes are written into the snapshot.
/// - Throws: ``FixtureMismatch``, which names each property and what to do; what reading or writing the file throws.
public func requireSchemaUnchanged(
    _ catalog: some StorageKeyCatalog, snapshot path: String, relativeTo file: String = #filePath,
    isRecording: Bool = FixtureMismatch.isRecording
) throws {
    let place = URL(filePath: path, relativeTo: URL(filePath: file).deletingLastPathComponent())
    let now = CatalogSnapshot(catalog)
    guard FileManager.default.fileExists(atPath: place.path) else {
        try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try now.json().write(to: place)
        throw FixtureMismatch("\(path) is written; look at it and commit it.", [])
    }
    let recorded = try CatalogSnapshot(json: try Data(contentsOf: place))
    let differences = SchemaDifferences(catalog.allKeys.map(\.shape), catalog: catalog.id, recorded: recorded)
    if !differences.problems.isEmpty {
        throw FixtureMismatch("What \(catalog.id) stores changed, and older values would not survive it:", differences.problems)
    }
    let next = now.keepingHistory(of: recorded)
    guard next != recorded else { return }
    guard isRecording else {
        throw FixtureMismatch(
            "What \(catalog.id) stores changed without harm; record it by running this test with LOCALDATA_RECORD=1:", differences.news)
    }
    try next.json().write(to: place)
}

/// What a fixture says differs from what is.
public struct FixtureMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// What to do about it.
    public let summary: String
    /// Each difference.
    public let differences: [String]

    init(_ summary: String, _ differences: [String]) {
        self.summary = summary
        self.differences = differences
    }

    /// The summary, and a line for each difference.
    public var description: String { ([summary] + differences.map { "  \($0)" }).joined(separator: "\n") }

    /// Whether the run is to write fixtures anew: `LOCALDATA_RECORD=1`.
    public static var isRecording: Bool { ProcessInfo.processInfo.environment["LOCALDATA_RECORD"] == "1" }
}
