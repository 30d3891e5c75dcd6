import ArgumentParser
import Foundation

/// The weather program of some years ago. It stores everything as plaintext in `UserDefaults`, including an API token
/// and a journal.
///
/// The next version of the program is `Examples/WeatherNew`.
@main
struct WeatherOld: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weather-old", abstract: "Keeps preferences, an API token and a journal with UserDefaults.",
        discussion:
            "The token and the journal's hut are taken from the environment variables WEATHER_TOKEN and WEATHER_HUT, if they are set.")

    @Flag(help: "Only show what is kept; write nothing.")
    var show = false

    @Flag(help: "Only print the journal; write nothing.")
    var journal = false

    func run() throws {
        guard let preferences = Preferences() else { throw ValidationError("The suite cannot be opened.") }
        if journal { return print(preferences.journal ?? "", terminator: "") }
        if !show {
            let environment = ProcessInfo.processInfo.environment
            try preferences.fill(
                token: environment["WEATHER_TOKEN"] ?? "wx/not-a-\"real\"-token", hut: environment["WEATHER_HUT"] ?? "not a \"real\" hut")
        }
        for (name, value) in preferences.lines { print("  \(name.padding(toLength: 16, withPad: " ", startingAt: 0))\(value)") }
    }
}
