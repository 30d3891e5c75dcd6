import Foundation

/// The terminal of the person who runs the tool, whatever standard input and output are.
enum Terminal {
    /// Asks for a passphrase without showing what is typed.
    /// - Parameter twice: Whether it has to be typed a second time, alike.
    /// - Returns: What was typed; nil, with the reason on standard error, when there is none.
    static func askPassphrase(_ name: String, twice: Bool) async -> String? {
        await withCheckedContinuation { continuation in
            // Off the cooperative pool: a person takes their time.
            Thread.detachNewThread { continuation.resume(returning: ask(name, twice)) }
        }
    }

    private static func ask(_ name: String, _ twice: Bool) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else {
            Failure.write("localdata: There is no terminal to ask for the passphrase \(name) on.")
            return nil
        }
        defer { close(terminal) }
        guard let first = line(terminal, "\(twice ? "New passphrase" : "Passphrase") \(name): ") else { return nil }
        if twice, line(terminal, "The same again: ") != first {
            Failure.write("localdata: The two are not the same.")
            return nil
        }
        return first
    }

    /// A line that is typed unseen; nil when the person gave up (Control-C, Control-D).
    private static func line(_ terminal: Int32, _ prompt: String) -> String? {
        var usual = termios()
        guard tcgetattr(terminal, &usual) == 0 else { return nil }
        var silent = usual
        silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
        // Without signals Control-C ends the line instead, so that the terminal is never left silent.
        let giveUp: cc_t = 3
        withUnsafeMutableBytes(of: &silent.c_cc) { $0[Int(VEOL)] = giveUp }
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { return nil }
        defer {
            _ = tcsetattr(terminal, TCSAFLUSH, &usual)
            show("\n", terminal)
        }
        show(prompt, terminal)
        var typed: [UInt8] = []
        var byte: UInt8 = 0
        while read(terminal, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") { return String(decoding: typed, as: UTF8.self) }
            if byte == giveUp { return nil }
            typed.append(byte)
        }
        return nil
    }

    private static func show(_ text: String, _ terminal: Int32) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }
}
