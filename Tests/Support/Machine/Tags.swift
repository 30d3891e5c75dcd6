import Foundation
package import Testing

extension Tag {
    /// Starts programs of this package, and ends or kills them.
    @Tag package static var process: Tag
    /// Uses a private gnome-keyring.
    @Tag package static var keyring: Tag
    /// Searches through many seeds, values or inputs.
    @Tag package static var campaign: Tag
    /// One of the acceptance scenarios (LD, CA, GS, CR, MM).
    @Tag package static var scenario: Tag
}

extension Trait where Self == ConditionTrait {
    /// Lets `Scripts/test --fast` skip the suite or test. That run reports what it skipped.
    /// - Parameter reason: The reason why it takes long.
    package static func slow(_ reason: Comment) -> Self {
        .disabled(if: ProcessInfo.processInfo.environment["LOCALDATA_FAST"] != nil, "left out of the fast run: \(reason)")
    }
}
