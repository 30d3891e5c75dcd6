public import BackendContract

/// An older copy that is kept on purpose, for programs of an earlier release.
public struct KeptCopy: Sendable, Codable, Hashable {
    /// Where: the domain and the name.
    public var place: String
    /// How well the copy is protected there.
    public var protection: ProtectionLevel
    /// Whether that is less than the value's own place does.
    public var isWeaker: Bool
    /// Until when, in words.
    public var until: String
}
