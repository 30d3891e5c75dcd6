import Hummingbird
import LocalData
import LocalDataHummingbird
import LocalDataService

@main struct Server {
    static func main() async throws {
        // The data is in STATE_DIRECTORY, which systemd sets. The key of the database is a file there.
        let storage = StorageRouter(configuration: .service(applicationID: "org.example.sessions", version: "1.0"))
        let sessions = StoragePersistDriver(storage)

        let application = Application(
            router: makeRouter(storage, sessions),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 8791)),
            // The storage is the first service, so that it is closed last.
            services: [StorageService(storage, catalogs: [ServerKeys(sessions)]), sessions])
        try await application.runService()
    }
}
