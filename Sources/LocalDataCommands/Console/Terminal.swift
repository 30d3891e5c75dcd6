import ArgumentParser
import Foundation

/// The user's terminal. It works even if standard input and output are redirected.
enum Terminal {
    /// Whether a person can answer questions: standard input is a terminal.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

    /// Asks for a passphrase without echo.
    /// - Parameter twice: Whether the user must type the passphrase a second time.
    /// - Returns: The passphrase; nil if there is none. The reason is then printed on standard error.
    static func askPassphrase(_ name: String, twice: Bool) async -> String? {
        await withCheckedContinuation { continuation in
            // Use a separate thread, because the user may take a long time and would block the cooperative pool.
            Thread.detachNewThread { continuation.resume(returning: ask(name, twice)) }
        }
    }

    /// The number of characters that a new passphrase has at least. A thief of the sealed file can try all shorter ones.
    static let shortestPassphrase = 8

    static var passphraseRule: String {
        "A new passphrase has at least \(shortestPassphrase) characters. Several words are easy to remember."
    }

    /// Asks a question with a visible answer.
    /// - Returns: The line; nil if the user cancels, or if there is no terminal.
    static func ask(_ question: String) async -> String? { await ask(question, echoes: true) }

    /// Asks for a secret without echo.
    /// - Returns: The line; nil if the user cancels, or if there is no terminal.
    static func askSecret(_ question: String) async -> String? { await ask(question, echoes: false) }

    private static func ask(_ question: String, echoes: Bool) async -> String? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
                guard terminal >= 0 else { return continuation.resume(returning: nil) }
                defer { close(terminal) }
                continuation.resume(returning: line(terminal, question, echoes: echoes))
            }
        }
    }

    private static func ask(_ name: String, _ twice: Bool) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else {
            Failure.write("\(Failure.program): The passphrase \(name) is needed, but there is no terminal to ask for it.")
            return nil
        }
        defer { close(terminal) }
        guard let first = line(terminal, "\(twice ? "New passphrase" : "Passphrase") \(name): ") else { return nil }
        if twice, line(terminal, "Repeat the passphrase: ") != first {
            Failure.write("\(Failure.program): The passphrases differ.")
            return nil
        }
        if twice, first.count < shortestPassphrase {
            Failure.write("\(Failure.program): \(passphraseRule)")
            return nil
        }
        return first
    }

    /// The length of a line that a terminal may have cut: see `termios(3)`.
    private static let longestLine = 4_095

    /// Reads a line; nil if the user cancels (Control-C, Control-D), if the input is not UTF-8 text, or if the terminal may have cut it.
    private static func line(_ terminal: Int32, _ prompt: String, echoes: Bool = false) -> String? {
        var usual = termios()
        guard tcgetattr(terminal, &usual) == 0 else { return nil }
        var silent = usual
        silent.c_lflag &= ~tcflag_t(echoes ? ISIG : ECHO | ISIG)
        // Signals are off. Control-C therefore ends the line instead of the process, and echo is always restored.
        let giveUp: cc_t = 3
        withUnsafeMutableBytes(of: &silent.c_cc) { $0[Int(VEOL)] = giveUp }
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { return nil }
        defer {
            _ = tcsetattr(terminal, TCSAFLUSH, &usual)
            if !echoes { show("\n", terminal) }
        }
        show(prompt, terminal)
        var typed: [UInt8] = []
        // Reserve more bytes than a terminal line can have. The buffer then never moves, so overwriting it removes every copy.
        typed.reserveCapacity(8_192)
        defer { typed.withUnsafeMutableBytes { bytes in bytes.baseAddress.map { explicit_bzero($0, bytes.count) } } }
        var byte: UInt8 = 0
        while read(terminal, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") {
                guard typed.count < longestLine else {
                    Failure.write("\(Failure.program): A terminal takes a line of fewer than \(longestLine) bytes. Use a pipe.")
                    return nil
                }
                // Decoding would replace invalid bytes, so that different inputs could result in the same secret.
                // Reason: "Arguments and input that are not UTF-8 are refused" in Docs/Decisions/ToolAndErrors.md.
                guard let text = String(validating: typed, as: UTF8.self) else {
                    Failure.write("\(Failure.program): What was typed is not text (UTF-8). Set the terminal to UTF-8.")
                    return nil
                }
                return text
            }
            if byte == giveUp { return nil }
            typed.append(byte)
        }
        return nil
    }

    /// Reads one line of standard input.
    /// - Throws: `ValidationError` for input that is not text. Decoding would replace invalid bytes, so that different inputs could
    ///   result in the same secret.
    static func lineOfStandardInput() throws -> String {
        var line: [UInt8] = []
        line.reserveCapacity(8_192)
        defer { line.withUnsafeMutableBytes { bytes in bytes.baseAddress.map { explicit_bzero($0, bytes.count) } } }
        var byte: UInt8 = 0
        while read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let text = String(validating: line, as: UTF8.self) else { throw ValidationError("Standard input is not text (UTF-8).") }
        return text
    }

    private static func show(_ text: String, _ terminal: Int32) {
        let bytes = Array(text.escapingControls(except: ["\n"]).utf8)
        _ = write(terminal, bytes, bytes.count)
    }
}
