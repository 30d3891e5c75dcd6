import Hummingbird

/// The server. Its settings come from the environment, and then from the user defaults of the service.
@main struct SessionProgram {
    static func main() async throws {
        let settings = try await Settings.read()
        let store = try settings.makeStore()
        let application = Application(
            router: makeRouter(store),
            configuration: ApplicationConfiguration(address: .hostname(settings.host, port: settings.port), serverName: "sessions"),
            // The storage is the first service, so that it is shut down after the server.
            services: store.services)
        try await application.runService()
    }
}
