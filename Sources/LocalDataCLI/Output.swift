import Foundation
import LocalData

/// What the tool prints on standard output: lines for people, bytes, or one JSON value for programs.
///
/// On a terminal, control characters are shown as `\u{1b}` and never sent: a name or a value that another program chose cannot move the
/// cursor, change what is above it, or make the terminal type.
enum Output {
    /// Whether people read the output.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Prints a line. On a terminal it stays one line, whatever it holds.
    static func line(_ text: String) { write((isTerminal ? text.escapingControls() : text) + "\n") }

    /// Prints a value, which may have several lines.
    static func value(_ text: String) { write((isTerminal ? text.escapingControls(except: ["\n", "\t"]) : text) + "\n") }

    /// Prints bytes as they are. On a terminal, bytes that are no text are shown in Base64.
    static func bytes(_ data: Data) {
        guard isTerminal else { return FileHandle.standardOutput.write(data) }
        value(String(data: data, encoding: .utf8) ?? data.base64EncodedString())
    }

    /// Prints a value as one line of JSON, with sorted names.
    static func json(_ value: some Encodable) throws { write(try jsonText(value) + "\n") }

    /// A value as JSON without control characters.
    static func jsonText(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self).escapingControlsInJSON()
    }

    /// Prints what a command that only does something answers in JSON.
    static func done() throws { try json(["done": true]) }

    private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}

extension Unicode.Scalar {
    /// Whether a terminal may obey it, or show other characters in another order because of it.
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: properties.isBidiControl
        default: false
        }
    }
}

extension String {
    /// The text with every control character as `\u{1b}`.
    func escapingControls(except kept: Swift.Set<Unicode.Scalar> = []) -> String {
        escaping(except: kept) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// JSON with every control character escaped: encoders leave those above U+001F as they are.
    fileprivate func escapingControlsInJSON() -> String {
        escaping(except: []) { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    private func escaping(except kept: Swift.Set<Unicode.Scalar>, _ escape: (Unicode.Scalar) -> String) -> String {
        guard unicodeScalars.contains(where: { $0.isControl && !kept.contains($0) }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isControl, !kept.contains(scalar) { text += escape(scalar) } else { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
