public import LocalData

/// What an export wrote.
public struct ExportReport: Codable, Hashable, Sendable {
    /// The values and records that were written, as ``ImportReport`` names them.
    public internal(set) var written: [String] = []
    /// Records that could not be read, and why: they are not in the export.
    public internal(set) var damaged: [String] = []

    init() {}
}

/// What an import did with each value and record: "NAME", or "COLLECTION/ID".
public struct ImportReport: Codable, Hashable, Sendable {
    /// Stored where there was nothing.
    public internal(set) var added: [String] = []
    /// Stored over another value.
    public internal(set) var replaced: [String] = []
    /// Left as they are: the same value is there.
    public internal(set) var unchanged: [String] = []
    /// Left as they are: another value is there, and the call does not replace.
    public internal(set) var kept: [String] = []
    /// Not stored: the value's time was over.
    public internal(set) var expired: [String] = []
    /// Not stored: the call names no key or collection for it.
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

/// What became of a value.
enum ImportOutcome: Sendable {
    case added, replaced, unchanged, kept, expired
}
