/// The output of a command, and whether it has failed.
struct AuthoringReport: Sendable {
    private(set) var lines: [String] = []
    /// The exit status of the program: 0 if nothing failed.
    private(set) var status: Int32 = 0

    /// Adds lines of output. The caller escapes names that may contain a line break: see ``SwiftText/line(_:)``.
    mutating func say(_ text: String) {
        lines += text.split(separator: "\n", omittingEmptySubsequences: false).map { SwiftText.line(String($0)) }
    }

    /// Adds an error. The program fails.
    mutating func fail(_ text: String, _ kind: AuthoringRefusal.Kind = .package) {
        say("error: \(text)")
        status = max(status, kind.rawValue)
    }
}
