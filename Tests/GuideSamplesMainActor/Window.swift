import LocalData

/// A class that is isolated to the main actor without an annotation, because main-actor isolation is the default of
/// this module.
final class Window {
    var width = 800

    func load() async throws {
        try await StorageRouter.shared.registerCatalog(AppKeys(), migrateImmediately: true)
        width = try await StorageRouter.shared.get(.width)
    }
}
