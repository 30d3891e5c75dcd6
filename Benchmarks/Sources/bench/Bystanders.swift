import Foundation
import LocalData

/// Measures how long an unrelated task takes from its creation to its end while the library works.
struct Bystanders {
    let root: URL
    let results: Results

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    func run() async throws {
        results.begin("An unrelated task, from its creation to its end")
        try await measure("while nothing else runs") { try await Task.sleep(for: .seconds(1)) }
        let router = StorageRouter(configuration: configuration(root))
        @Sendable func old(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "old-\(index)", domain: .userDefaults(suite: "older"), owner: "Bench", description: "Older")
        }
        try await router.batch { batch in for index in 0..<5_000 { batch.set("value", for: old(index)) } }
        let catalog = Catalog(
            allKeys: (0..<5_000).map { index in
                .key(
                    StorageKey<String>(
                        name: "new-\(index)", domain: .encryptedSQLite(database: "modern"), owner: "Bench", description: "A value"
                    ).moved(from: old(index)))
            })
        try await measure("while 5,000 keys are swept") {
            try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete()
        }
        if let text = ProcessInfo.processInfo.environment["BENCH_KEYRING_PID"], let daemon = Int32(text) {
            var settings = configuration(root)
            settings.deadlines.keychain = .seconds(1)
            let waiting = StorageRouter(configuration: settings)
            let secret = StorageKey<String>(name: "secret", domain: .keychain(service: "bench"), owner: "Bench", description: "A secret")
            try await waiting.set("a secret", for: secret)
            kill(daemon, SIGSTOP)
            defer { kill(daemon, SIGCONT) }
            try await measure("while the keyring hangs, 8 gets waiting") {
                await withTaskGroup { group in for _ in 0..<8 { group.addTask { _ = try? await waiting.get(secret) } } }
            }
        }
        try await router.shutdown()
    }

    private func measure(_ name: String, _ work: @escaping @Sendable () async throws -> Void) async throws {
        let working = Task { try await work() }
        let isOver = Flag()
        async let end: Void = {
            _ = await working.result; isOver.raise()
        }()
        var times: [Double] = []
        while !isOver.isRaised {
            times.append(await seconds { await Task {}.value })
            try await Task.sleep(for: .microseconds(200))
        }
        _ = await end
        try await working.value
        results.time(name + ", median", times.middle)
        results.time(name + ", 99th percentile", times.percentile(0.99))
    }
}

private final class Flag: @unchecked Sendable {
    private let lock = NSLock()
    private var raised = false

    var isRaised: Bool { lock.withLock { raised } }
    func raise() { lock.withLock { raised = true } }
}
