import LocalData

/// Belongs to the main actor without saying so: what a module with main-actor isolation by default is made for.
final class Window {
    var width = 800

    func load() async throws {
        try await StorageRouter.shared.registerCatalog(AppKeys(), migrateImmediately: true)
        width = try await StorageRouter.shared.get(.width)
    }
}
