/// The older shape in which values are kept, for programs of an earlier release.
struct MirroredShape<Value: Codable & Sendable>: Sendable {
    let window: ReleaseWindow
    /// The versions from which newer shapes follow, the latest first; the last one is what the oldest program of the window reads.
    let versions: [Int]
    /// Makes one value of what an earlier release wrote, in the newer shape, and of the newer value that it wrote over; nil where the older shape tells everything.
    let merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)?
}
