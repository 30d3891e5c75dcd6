import LocalData

@main struct Weather {
    static func main() async throws {
        let storage = StorageRouter(configuration: .xdg(applicationID: "org.example.weather", version: "2.0"))

        print("The city is \(try await storage.get(.city)).")

        try await storage.shutdown()
    }
}
