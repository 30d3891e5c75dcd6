import ArgumentParser
import LocalData

/// The consent to a change that loses data.
struct ConsentOptions: ParsableArguments {
    @Flag(help: "Do not ask before data is lost. Needed if standard input is not a terminal.") var yes = false

    /// Asks on the terminal for consent, unless the option gives it.
    /// - Parameters:
    ///   - loss: A sentence about the data that is lost.
    ///   - configuration: The configuration of the storage, whose owner is shown.
    /// - Throws: The error that ends the command, if there is no consent.
    func require(_ loss: String, of configuration: StorageConfiguration) async throws {
        try await require("\(loss) \(FolderOwner(configuration).sentence)")
    }

    /// Asks on the terminal for consent, unless the option gives it.
    /// - Parameter loss: The data that is lost, with its owner.
    /// - Throws: The error that ends the command, if there is no consent.
    func require(_ loss: String) async throws {
        if yes { return }
        guard Terminal.isInteractive else {
            throw ValidationError("\(loss) Nothing was changed. To do it without a question: --yes.")
        }
        if await Terminal.ask("\(loss)\nType yes to go on: ") == "yes" { return }
        Failure.write("Nothing was changed.")
        throw ExitCode(ExitStatus.usage.rawValue)
    }
}
