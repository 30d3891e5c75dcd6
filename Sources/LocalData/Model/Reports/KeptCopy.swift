public import BackendContract

/// A copy of a value that is kept in an older location of the value (a legacy location), for programs of an earlier
/// release.
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
