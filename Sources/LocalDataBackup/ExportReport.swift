import LocalData

/// The result of an export: the values that were written, and the records that were damaged.
///
/// ```swift
/// print("\(report.written.count) values were exported: \(report.written)")
/// ```
public struct ExportReport: Codable, Hashable, Sendable {
    /// The exported values and records, named like those of an ``ImportReport``.
    public internal(set) var written: [String] = []
    /// The damaged records that are not in the export, each with the reason.
    public internal(set) var damaged: [String] = []

    init() {}
}

/// The result of an import for each value and record, named "NAME" or "COLLECTION/ID".
///
/// ```swift
/// print("\(report.added.count) added, \(report.replaced.count) replaced, \(report.kept.count) kept")
/// for name in report.unknown { print("\(name) was not imported: no key or collection has this name") }
/// ```
public struct ImportReport: Codable, Hashable, Sendable {
    /// Values that were stored because none existed.
    public internal(set) var added: [String] = []
    /// Values that replaced a different value.
    public internal(set) var replaced: [String] = []
    /// Values that already existed with the same content.
    public internal(set) var unchanged: [String] = []
    /// Existing values that differ from the import and were kept, because the call does not replace values.
    public internal(set) var kept: [String] = []
    /// Values that were not stored because they have expired.
    public internal(set) var expired: [String] = []
    /// Values that were not stored because the call names no key or collection for them.
    public internal(set) var unknown: [String] = []

    init() {}

    mutating func note(_ name: String, _ outcome: ImportOutcome) {
        switch outcome {
        case .added: added.append(name)
        case .replaced: replaced.append(name)
        case .unchanged: unchanged.append(name)
        case .kept: kept.append(name)
        case .expired: expired.append(name)
        }
    }
}

/// The outcome of importing one value.
enum ImportOutcome: Sendable {
    case added, replaced, unchanged, kept, expired
}
