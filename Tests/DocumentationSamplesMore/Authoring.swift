import LocalData
import LocalDataAuthoring

/// Samples of the program with which the plugin makes migrations. They are compiled, and not run.
enum AuthoringSamples {
    static func filling() async {
        await MigrationAuthoring.main(AppKeys()) { storage in
            try await storage.set("Graz", for: .city)  // if it throws, the release is not recorded, and the exit status is 1
        }
    }
}
