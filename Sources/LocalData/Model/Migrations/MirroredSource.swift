/// How an older place is kept up to date, for programs of an earlier release.
struct MirroredSource<Value: Codable & Sendable>: Sendable {
    let window: ReleaseWindow
    /// The source's value that stands for a value. It has the source key's type.
    let down: @Sendable (Value) throws -> any Sendable
    /// Whether the older shape may tell less than the newer one.
    let changesShape: Bool
    /// Makes one value of what an earlier release wrote, in the newer shape, and of the value that it wrote over; nil where the older shape tells everything.
    let merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)?
}
