/// A release window: the time during which a legacy location is kept up to date. An older release of the program can
/// then run at the same time as the newer one, and again after a rollback.
public struct ReleaseWindow: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The condition that ends a window.
    private enum End: Sendable, Hashable, Codable {
        case version(String)
        case days(Int)
        case release
    }

    private let end: End

    /// Keeps the window open until the program has a version. A sweep (``StorageRouter/sweep(_:progress:)``) by a
    /// program of that version or a later one ends the window. The version of a program is
    /// ``StorageConfiguration/applicationVersion``. A program without a version never ends the window.
    /// - Parameter version: Numbers separated by dots, compared one by one; `3.0` equals `3`. A version with a hyphen,
    ///   such as `3.0-beta`, is earlier than the release `3.0`.
    public static func until(version: String) -> Self { Self(end: .version(version)) }

    /// Keeps the window open for a number of days after the legacy location was first kept up to date, by the wall
    /// clock.
    ///
    /// The first sweep after that time records that the window is over. A sweep at least a day later ends the window. A
    /// clock that is wrong for an hour therefore ends no window.
    public static func `for`(days: Int) -> Self { Self(end: .days(days)) }

    /// Keeps the window open until `StorageRouter.endReleaseWindow(for:)` ends it.
    public static let untilReleased = Self(end: .release)

    /// Returns whether a program of a version keeps the window open; always true for a window that does not end at a
    /// version.
    /// - Parameter version: The program's version; nil if it has none.
    func isOpen(for version: String?) -> Bool {
        guard case .version(let last) = end, let version else { return true }
        return ApplicationVersion(version) < ApplicationVersion(last)
    }

    /// Returns when the window is over, in seconds since 1970; nil for a window without a number of days.
    /// - Parameter start: When the legacy location was first kept up to date, in seconds since 1970.
    func end(since start: Double) -> Double? {
        guard case .days(let days) = end else { return nil }
        return start + Double(days) * 86_400
    }

    /// Whether the window ends at a version, so that a program without a version never ends it.
    var needsVersion: Bool { if case .version = end { true } else { false } }

    /// The end of the window in words.
    public var description: String {
        switch end {
        case .version(let version): "until version \(version)"
        case .days(let days): "for \(days) days"
        case .release: "until it is released"
        }
    }
}

/// The version of a program. Versions can be compared.
struct ApplicationVersion: Comparable {
    private let numbers: [Int]
    /// The text after the first hyphen; nil for a release. A release is later than its pre-releases.
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
