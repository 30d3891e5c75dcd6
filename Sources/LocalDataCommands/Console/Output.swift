package import Foundation
import LocalData

/// Prints text, bytes or one JSON value on standard output.
///
/// On a terminal, control characters are printed as `\u{1b}`. A name or value from another program therefore cannot move the cursor,
/// change earlier output, or make the terminal send input.
package enum Output {
    /// Receives the output of the task instead of standard output. For tests of commands that a program mounts.
    @TaskLocal package static var receiver: (@Sendable (Data) -> Void)?

    /// Whether standard output is a terminal.
    static var isTerminal: Bool { receiver == nil && isatty(STDOUT_FILENO) == 1 }

    /// Prints a line. On a terminal, line breaks in the text are escaped, so that it stays one line.
    static func line(_ text: String) { write((isTerminal ? text.escapingControls() : text) + "\n") }

    /// Prints a value. It may have several lines.
    static func value(_ text: String) { write((isTerminal ? text.escapingControls(except: ["\n", "\t"]) : text) + "\n") }

    /// Prints bytes. To a pipe or a file, they are unchanged. On a terminal, text ends with a newline, and other bytes are in Base64.
    /// - Parameter isRaw: Whether the bytes are unchanged on a terminal, too.
    static func bytes(_ data: Data, isRaw: Bool = false) {
        if isRaw || !isTerminal { return write(data) }
        value(String(data: data, encoding: .utf8) ?? data.base64EncodedString())
    }

    /// Prints a stored value. To a pipe or a file, its bytes are unchanged, and no newline is added. On a terminal, it is text that
    /// ends with a newline.
    /// - Parameter isRaw: Whether the bytes are unchanged on a terminal, too.
    static func content(_ value: DocumentValue, isRaw: Bool) throws {
        if isRaw || !isTerminal { return write(try value.bytes()) }
        Self.value(try value.text())
    }

    /// Prints a value as one line of JSON with sorted property names.
    static func json(_ value: some Encodable) throws { write(try jsonText(value) + "\n") }

    /// Encodes a value as JSON, with dates in seconds since 1970. All control characters are escaped.
    static func jsonText(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .secondsSince1970
        return String(decoding: try encoder.encode(value), as: UTF8.self).escapingControlsInJSON()
    }

    /// Prints the JSON output of a command that succeeded and has no other output.
    static func done() throws { try json(["done": true]) }

    private static func write(_ text: String) { write(Data(text.utf8)) }

    /// Writes to standard output. If that fails, the process ends: a script must not take half of an answer for all of it.
    private static func write(_ data: Data) {
        if let receiver { return receiver(data) }
        do { try FileHandle.standardOutput.write(contentsOf: data) } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
            // The reader, such as `head`, has enough. A shell expects the status of a process that SIGPIPE ended.
            if cause.domain == NSPOSIXErrorDomain, cause.code == Int(EPIPE) { Foundation.exit(128 + SIGPIPE) }
            Failure.write("\(Failure.program): The output could not be written: \(cause.localizedDescription)")
            Foundation.exit(ExitStatus.noRoom.rawValue)
        }
    }
}

/// Returns a number with a noun, such as "1 row" and "2 rows".
/// - Parameter noun: The noun, whose plural ends in s.
func quantity(_ number: some BinaryInteger, of noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

extension Unicode.Scalar {
    /// Whether the character may control the terminal, is invisible, or may change the order in which other characters are shown. Variation
    /// selectors are invisible too, but many emoji contain them.
    /// Reason: "On a terminal, control characters are shown as escapes" in Docs/Decisions/ToolAndErrors.md.
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
        }
    }
}

extension String {
    /// The text with every control character written as `\u{1b}`, except the kept ones.
    func escapingControls(except kept: Swift.Set<Unicode.Scalar> = []) -> String {
        escaping(except: kept) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// Escapes the control characters in JSON text. Encoders do not escape those above U+001F.
    fileprivate func escapingControlsInJSON() -> String {
        escaping(except: []) { scalar in scalar.utf16.map { "\\u" + String(0x1_0000 + UInt32($0), radix: 16).dropFirst() }.joined() }
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
