import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// The options for the secret that opens a sealed file. The secret is never an argument, because other users can see arguments.
struct SecretOptions: ParsableArguments {
    @Flag(help: "A recovery key opens the file, not a passphrase. Both are typed, or are a line of standard input.") var recoveryKey = false

    /// Reads the secret from the terminal, or from standard input if that is not a terminal.
    /// - Parameter isNew: Whether the user must type a passphrase a second time.
    func ask(isNew: Bool = false) async throws -> BackupKey {
        if recoveryKey { return .recoveryKey(try await Self.recoveryKey()) }
        let text =
            Terminal.isInteractive ? await Terminal.askPassphrase("of the file", twice: isNew) : try Terminal.lineOfStandardInput()
        guard let text, !text.isEmpty else { throw ValidationError("No passphrase was given.") }
        if isNew, text.count < Terminal.shortestPassphrase {
            throw ValidationError("\(Terminal.passphraseRule) Nothing was written.")
        }
        return .passphrase(text)
    }

    /// Reads a recovery key from the terminal, or from standard input if that is not a terminal.
    static func recoveryKey() async throws -> RecoveryKey {
        let text = Terminal.isInteractive ? await Terminal.askSecret("Recovery key: ") : try Terminal.lineOfStandardInput()
        guard let text, !text.isEmpty else { throw ValidationError("No recovery key was given.") }
        return try RecoveryKey(text: text)
    }
}

/// The file of a backup, and the secret that opens it.
struct SealedFileOptions: ParsableArguments {
    @Argument(help: "The file.", completion: .file()) var file: String
    @OptionGroup var secret: SecretOptions

    var url: URL { URL(fileURLWithPath: file) }
}

/// Checks of files that arguments name.
enum NamedFile {
    /// Throws if there is no file at a path.
    static func requireExisting(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { throw Refusal.unknownFile(path) }
    }

    /// Throws if there is a file at a path, because a sealed file never replaces another one.
    static func requireNew(_ path: String) throws {
        if FileManager.default.fileExists(atPath: path) { throw Refusal.existingFile(path) }
    }

    /// Returns the size of a file in bytes; nil if there is none.
    static func size(_ path: String) -> Int? { (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue }
}
