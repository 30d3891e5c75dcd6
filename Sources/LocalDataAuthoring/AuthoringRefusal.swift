import Foundation

/// The error for a command that cannot do its work. The message says what the user must do.
struct AuthoringRefusal: LocalizedError, CustomStringConvertible {
    /// The kind of problem, which decides the exit status of the program.
    enum Kind: Int32 {
        /// The package must be corrected.
        case package = 1
        /// The arguments of the command are invalid.
        case usage = 64
    }

    let message: String
    let kind: Kind

    init(_ message: String, _ kind: Kind = .package) {
        self.message = message
        self.kind = kind
    }

    var description: String { message }
    var errorDescription: String? { message }
}
