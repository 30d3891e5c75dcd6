public import BackendContract

/// A second copy of a value, which a release window keeps up to date for an earlier release of the program.
///
/// Audits and reports of sweeps list such copies, because a copy may have less protection than the value.
///
/// ```swift
/// for row in audit.rows {
///     if let copy = row.keeps, copy.isWeaker { print("\(row.key) also exists in \(copy.place), \(copy.until)") }
/// }
/// ```
public struct KeptCopy: Sendable, Codable, Hashable {
    /// The location of the copy: the domain and the name.
    public var place: String
    /// The protection of the copy.
    public var protection: ProtectionLevel
    /// Whether the copy has less protection than the value at its destination.
    public var isWeaker: Bool
    /// The end of the release window in words.
    public var until: String
}
