import LocalData

@main struct Weather {
    static func main() async throws {
        let storage = StorageRouter(configuration: .xdg(applicationID: "org.example.weather", version: "2.0"))

        // Each launch migrates what an older version left. After the first launch, nothing is left to do.
        let report = try await storage.registerCatalog(WeatherKeys(), migrateImmediately: true)
        for row in report.moved { print("\(row.key) moved to \(row.to)") }
        for row in report.blocked { print("\(row.key) waits: \(row.message ?? "")") }
        try report.requireComplete()

        print("The city is \(try await storage.get(.city)).")
        print("The token has \(try await storage.get(.apiToken).count) characters.")

        try await storage.shutdown()
    }
}
