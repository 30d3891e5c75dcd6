/// The time in which an old and a new release of a program share a value, although they keep it in different locations.
///
/// During a release window, the router keeps the legacy location up to date. The older release can then run at the same
/// time as the newer one, and again after a rollback. Declare a window if you cannot update all programs at once, or if
/// you may have to withdraw the new release. Without a window, a migration empties the legacy location at once.
///
/// ```swift
/// let city: StorageKey<String> = settings.key("city", "The first city to show")
///     .moved(from: .oldCity, keeping: .until(version: "3.0"))  // version 1 still reads and writes the legacy location
/// ```
///
/// Each change is durable at the destination before it is written to the legacy location. If the legacy location cannot
/// be written, the change is kept, and a sweep reports the key as ``MigrationReport/State/pending``.
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
    ///
    /// ```swift
    /// let city: StorageKey<String> = settings.key("city", "The first city to show")
    ///     .moved(from: .oldCity, keeping: .until(version: "3.0"))  // version 1 still reads and writes the legacy location
    /// ```
    /// - Parameter version: Numbers separated by dots, compared one by one; `3.0` equals `3`. A version with a hyphen,
    ///   such as `3.0-beta`, is earlier than the release `3.0`.
    public static func until(version: String) -> Self { Self(end: .version(version)) }

    /// Keeps the window open for a number of days after the legacy location was first kept up to date, by the wall
    /// clock.
    ///
    /// The first sweep after that time records that the window is over. A sweep at least a day later ends the window. A
    /// clock that is wrong for an hour therefore ends no window.
    ///
    /// ```swift
    /// let theme: StorageKey<String> = settings.key("theme", "The colours")
    ///     .moved(from: older.key("skin", "The colours, in version 1"), keeping: .for(days: 60))
    /// ```
    public static func `for`(days: Int) -> Self { Self(end: .days(days)) }

    /// Keeps the window open until `StorageRouter.endReleaseWindow(for:)` ends it.
    ///
    /// ```swift
    /// let units: StorageKey<String> = settings.key("units", "Degrees Celsius or Fahrenheit")
    ///     .moved(from: older.key("units", "The units, in version 1"), keeping: .untilReleased)
    /// ```
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
        if case .days(let days) = end { start + Double(days) * 86_400 } else { nil }
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
