import ArgumentParser
import Foundation

/// The weather program of some years ago: everything it keeps, its API token included, is in `UserDefaults`, in the clear.
///
/// Its next version is `Examples/WeatherNew`.
@main
struct WeatherOld: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weather-old", abstract: "Keeps preferences and an API token with UserDefaults.",
        discussion: "The token is taken from the environment variable WEATHER_TOKEN, if it is set.")

    @Flag(help: "Only show what is kept; write nothing.")
    var show = false

    func run() throws {
        guard let preferences = Preferences() else { throw ValidationError("The suite cannot be opened.") }
        if !show { try preferences.fill(token: ProcessInfo.processInfo.environment["WEATHER_TOKEN"] ?? "wx/not-a-\"real\"-token") }
        for (name, value) in preferences.lines { print("  \(name.padding(toLength: 16, withPad: " ", startingAt: 0))\(value)") }
    }
}
