import ArgumentParser

/// The consent to a change that loses data.
struct ConsentOptions: ParsableArguments {
    @Flag(help: "Do not ask before data is lost. Needed if standard input is not a terminal.") var yes = false

    /// Asks on the terminal for consent, unless the option gives it.
    /// - Parameter loss: A sentence about the data that is lost.
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
