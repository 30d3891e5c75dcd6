import Foundation
import LocalData

/// Formats text with colours. Colours are used on a terminal, or if `CLICOLOR_FORCE` is set, but never if `NO_COLOR` is
/// set.
struct Style {
    enum Look: String {
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    let isColored: Bool

    static var ofStandardOutput: Style {
        let environment = ProcessInfo.processInfo.environment
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        let isTerminal = isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        return Style(isColored: (isTerminal || isSet("CLICOLOR_FORCE")) && !isSet("NO_COLOR"))
    }

    func callAsFunction(_ look: Look, _ text: String) -> String { isColored ? "\u{1B}[\(look.rawValue)m\(text)\u{1B}[0m" : text }
}

/// A progress line on a terminal; it is erased after the sweep, the migration of all values.
struct ProgressLine {
    private let isShown = isatty(STDERR_FILENO) == 1

    func show(_ progress: MigrationProgress) {
        guard isShown else { return }
        let done = progress.total == 0 ? 20 : 20 * progress.finished / progress.total
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: 20 - done)
        write("\r\u{1B}[K\(bar) \(progress.finished)/\(progress.total)  \(progress.key)")
    }

    func clear() {
        if isShown { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
