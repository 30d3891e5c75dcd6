import ArgumentParser
import Foundation
import LocalData

/// The current weather program. Its preferences are in the same file as before, its secrets in the keyring, and its
/// documents in an encrypted database.
///
/// The first version of the program is `Examples/WeatherOld`.
@main
struct WeatherNew: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weather-new",
        abstract: "Stores preferences, secrets and documents with LocalData, and migrates the data of weather-old.")

    @Flag(help: "Print the report and the audit as JSON.")
    var json = false

    @Flag(help: "Unlock the keyring first; this may ask for its password.")
    var unlock = false

    @Flag(help: "Only print the journal.")
    var journal = false

    func run() async throws {
        try StorageRouter.bootstrap(.xdg(applicationID: "org.example.weather", version: "2.0"))
        let router = StorageRouter.shared
        if unlock { try await router.unlock(.keychain(service: "weather")) }
        if journal {
            print(try await router.get(.journal), terminator: "")
            return try await router.shutdown()
        }

        // Each launch migrates all values that an older version of the program left.
        let keys = WeatherKeys()
        try await router.registerCatalog(keys)
        let progress = ProgressLine()
        let report = await router.sweep { progress.show($0) }
        progress.clear()

        let launch = LaunchReport(report: report, audit: try await router.audit())
        print(json ? try launch.json() : launch.text(style: .ofStandardOutput))
        try report.requireComplete()

        try await useValues(router)
        try await router.shutdown()
    }

    /// Reads and changes values after the migration.
    private func useValues(_ router: StorageRouter) async throws {
        let launches = try await router.update(.launches, default: 0) { (launches: inout Int) in
            launches += 1
            return launches
        }
        guard !json else { return }
        let token = try await router.get(.apiToken)
        let observer = try await router.value(for: .observer) ?? "nobody"
        let city = try await router.get(.city)
        let minutes = try await router.get(.refreshInterval)
        let journal = try await router.get(.journal)
        print(
            "\nLaunch \(launches): \(city) for \(observer), every \(minutes) minutes, with a token of \(token.count) characters and a journal of \(journal.utf8.count) bytes."
        )
    }
}
