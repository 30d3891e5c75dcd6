import Hummingbird

@main struct Server {
    static func main() async throws {
        let router = Router()
        router.get("health") { _, _ -> String in "ok" }

        let application = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 8791)))
        try await application.runService()
    }
}
