/// The functions that keep a legacy location, where an earlier release of the program stores the value, up to date.
/// They are used during a release window.
struct MirroredSource<Value: Codable & Sendable>: Sendable {
    let window: ReleaseWindow
    /// Converts a value to the older value that an earlier release reads. The result has the type of the legacy
    /// location's key.
    let down: @Sendable (Value) throws -> any Sendable
    /// Whether the older type may be unable to represent everything that the newer one can.
    let changesShape: Bool
    /// Combines the value that an earlier release wrote, converted to the newer type, with the newer value that it
    /// overwrote. Nil if the older type can represent everything.
    let merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)?
}
