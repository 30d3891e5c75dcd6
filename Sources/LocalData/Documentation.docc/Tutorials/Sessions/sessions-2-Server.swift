import Hummingbird
import LocalData
import LocalDataHummingbird

@main struct Server {
    static func main() async throws {
        // The data is in STATE_DIRECTORY, which systemd sets. The key of the database is a file there.
        let storage = StorageRouter(configuration: .service(applicationID: "org.example.sessions", version: "1.0"))
        let sessions = StoragePersistDriver(storage)

        let application = Application(
            router: makeRouter(storage, sessions),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 8791)), services: [sessions])
        try await application.runService()
    }
}
