/// How long what an older release of a program reads is kept up to date, so that it can run beside the newer one, and again after a roll-back.
public struct ReleaseWindow: Sendable, Hashable, Codable, CustomStringConvertible {
    /// What ends a window.
    private enum End: Sendable, Hashable, Codable {
        case version(String)
        case days(Int)
        case release
    }

    private let end: End

    /// Until the program has a version, as ``StorageConfiguration/applicationVersion`` says: a sweep of that version, or of a later one, ends the window. A program without a
    /// version never does.
    /// - Parameter version: Numbers with dots between them, compared one by one; `3.0` is `3`. What follows a hyphen comes before the release, as in `3.0-beta`.
    public static func until(version: String) -> Self { Self(end: .version(version)) }

    /// For a number of days after the older place was first kept up to date, by the wall clock. The first sweep that finds the window over notes it, and a sweep a day later ends
    /// the window: a clock that is set forward for an hour ends nothing.
    public static func `for`(days: Int) -> Self { Self(end: .days(days)) }

    /// Until a call ends it.
    public static let untilReleased = Self(end: .release)

    /// Whether a program of a version keeps the window. Days are not considered.
    /// - Parameter version: The version of the program; nil for a program that does not say.
    func isOpen(for version: String?) -> Bool {
        guard case .version(let last) = end, let version else { return true }
        return ApplicationVersion(version) < ApplicationVersion(last)
    }

    /// When the window is over, in seconds since 1970, if it was first kept at a time; nil for a window that does not end by itself.
    func end(since start: Double) -> Double? {
        guard case .days(let days) = end else { return nil }
        return start + Double(days) * 86_400
    }

    /// Whether only a program with a version can end the window.
    var needsVersion: Bool { if case .version = end { true } else { false } }

    /// When the window ends, in words.
    public var description: String {
        switch end {
        case .version(let version): "until version \(version)"
        case .days(let days): "for \(days) days"
        case .release: "until it is released"
        }
    }
}

/// A program's version, in its order.
struct ApplicationVersion: Comparable {
    private let numbers: [Int]
    /// What follows the first hyphen: a release has none, and comes after all that have.
    private let preRelease: String?

    init(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        var numbers = (parts.first ?? "").split(separator: ".", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        while numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
        preRelease = parts.count > 1 ? String(parts[1]) : nil
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        switch (left.preRelease, right.preRelease) {
        case (let left?, let right?): return left < right
        case (.some, nil): return true
        default: return false
        }
    }
}
