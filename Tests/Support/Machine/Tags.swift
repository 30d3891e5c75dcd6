import Foundation
package import Testing

extension Tag {
    /// Starts programs of this package and ends them, in order or not.
    @Tag package static var process: Tag
    /// Uses a gnome-keyring of its own.
    @Tag package static var keyring: Tag
    /// Searches: many seeds, values or inputs under one law.
    @Tag package static var campaign: Tag
    /// One of the acceptance scenarios (LD, CA, GS, CR, MM).
    @Tag package static var scenario: Tag
}

extension Trait where Self == ConditionTrait {
    /// `Scripts/test --fast` leaves the suite or test out, and says so.
    /// - Parameter reason: What takes the time.
    package static func slow(_ reason: Comment) -> Self {
        .disabled(if: ProcessInfo.processInfo.environment["LOCALDATA_FAST"] != nil, "left out of the fast run: \(reason)")
    }
}
