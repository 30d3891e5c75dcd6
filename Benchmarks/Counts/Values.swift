import Foundation
import LocalData

#if Observability
    import LocalDataObservability
#endif

/// Measures gets and durable sets of single values, and the opening of their database.
struct Values {
    private struct Note: Codable, Sendable {
        var title = "A note of some size"
        var x = 1.0
        var y = 2.0
        var width = 3.0
        // A literal, because a decoder computes the initial value of each property. That is work of the program, not of the library.
        var body = "text text text text text text text text text text text text "
    }

    private static let rows = 1_000

    let folder: URL

    init(_ folder: URL) { self.folder = folder }

    private func text(_ name: String) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults, owner: "Counts", description: "A text")
    }

    private func note(_ index: Int) -> StorageKey<Note> {
        StorageKey(name: "note-\(index)", domain: .encryptedSQLite(database: "counts"), owner: "Counts", description: "A note")
    }

    private func filled() async throws -> StorageRouter {
        let router = StorageRouter(configuration: configuration(folder))
        try await router.batch { batch in for index in 0..<Self.rows { batch.set(Note(), for: note(index)) } }
        return router
    }

    // MARK: get

    func getFromMemory() async throws { try await getFromMemory(.inMemory()) }

    /// The instrument reports to the metrics system of a program that has none: swift-metrics drops what it gets.
    func getWithMetrics() async throws {
        var configuration = StorageConfiguration.inMemory()
        #if Observability
            configuration.instruments.append(StorageMetrics())
        #else
            fatalError("There are no instruments. Build the program as Scripts/bench counts does.")
        #endif
        try await getFromMemory(configuration)
    }

    private func getFromMemory(_ configuration: StorageConfiguration) async throws {
        let router = StorageRouter(configuration: configuration)
        let key = text("text")
        try await router.set("abc", for: key)
        for _ in 0..<100 { _ = try await router.get(key) }
        try await measure(2_000) { for _ in 0..<2_000 { _ = try await router.get(key) } }
    }

    func getFromDefaults() async throws {
        let router = StorageRouter(configuration: configuration(folder))
        for number in 0..<10 { try await router.set("abc", for: text("text-\(number)")) }
        let key = text("text-3")
        // The library serves a property list from memory only after its file has been unchanged for a short time. Until
        // then, each get reads the file again.
        for _ in 0..<10 {
            _ = try await router.get(key)
            try await Task.sleep(for: .milliseconds(50))
        }
        for _ in 0..<100 { _ = try await router.get(key) }
        try await measure(2_000) { for _ in 0..<2_000 { _ = try await router.get(key) } }
        try await router.shutdown()
    }

    func getFromSQLite() async throws {
        let router = try await filled()
        let keys = (0..<500).map { note($0 * 7_919 % Self.rows) }
        for key in keys { _ = try await router.get(key) }
        try await measure(keys.count) { for key in keys { _ = try await router.get(key) } }
        try await router.shutdown()
    }

    // MARK: set

    func set() async throws {
        let router = try await filled()
        let keys = (0..<200).map { note($0 * 7_919 % Self.rows) }
        for key in keys { try await router.set(Note(x: 2), for: key) }
        try await measure(keys.count) { for key in keys { try await router.set(Note(x: 3), for: key) } }
        try await router.shutdown()
    }

    func setByTasks() async throws {
        let router = try await filled()
        for x in [2.0, 3] { try await set(x, router) }
        try await measure(Self.rows) { try await set(4, router) }
        try await router.shutdown()
    }

    private func set(_ x: Double, _ router: StorageRouter) async throws {
        try await withThrowingTaskGroup { group in
            for task in 0..<64 {
                group.addTask {
                    for index in stride(from: task, to: Self.rows, by: 64) { try await router.set(Note(x: x), for: note(index)) }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Opening

    func open() async throws {
        try await filled().shutdown()
        let key = note(7)
        for _ in 0..<3 { try await openAndGet(key).shutdown() }
        var opened: [StorageRouter] = []
        try await measure(20) { for _ in 0..<20 { opened.append(try await openAndGet(key)) } }
        for router in opened { try await router.shutdown() }
    }

    private func openAndGet(_ key: StorageKey<Note>) async throws -> StorageRouter {
        let router = StorageRouter(configuration: configuration(folder))
        _ = try await router.get(key)
        return router
    }
}
