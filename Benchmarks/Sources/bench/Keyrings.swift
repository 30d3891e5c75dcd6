import CSecret
import Foundation
import LocalData

/// Compares LocalData's operations on a keyring with direct calls of libsecret. All of them use the keyring of a
/// private D-Bus session, which `Scripts/bench` starts.
struct Keyrings {
    let root: URL
    let results: Results

    private func key(_ index: Int) -> StorageKey<String> {
        StorageKey(name: "secret-\(index)", domain: .keychain(service: "bench"), owner: "Bench", description: "A secret")
    }

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    func run(sizes: [Int]) async throws {
        for count in sizes { try await measure(count) }
    }

    private func measure(_ count: Int) async throws {
        let router = StorageRouter(configuration: configuration(root.appendingPathComponent("\(count)")))
        for index in 0..<count {
            try await router.set("secret \(index)", for: key(index))
            guard bench_secret_store("peer", "secret-\(index)", "secret \(index)") == 1 else { throw CocoaError(.fileWriteUnknown) }
        }
        let rounds = 20
        var number = 0
        var contest = Contest(rounds: 7)
        contest.add("lookup") { for index in 0..<rounds where bench_secret_lookup("peer", "secret-\(index % count)") != 1 { fatalError() } }
        contest.add("get") { for index in 0..<rounds { _ = try await router.get(key(index % count)) } }
        contest.add("lookup, absent") { for _ in 0..<rounds where bench_secret_lookup("peer", "none") != 0 { fatalError() } }
        contest.add("get, absent") { for _ in 0..<rounds { _ = try await router.value(for: key(-1)) } }
        contest.add("store") { for index in 0..<rounds { _ = bench_secret_store("peer", "secret-\(index % count)", "again") } }
        contest.add("set") {
            for index in 0..<rounds {
                number += 1
                try await router.set("again \(number)", for: key(index % count))
            }
        }
        let times = try await contest.run()
        func ratio(_ ours: String, _ peer: String) -> Double { times[ours, default: 0] / times[peer, default: 1] }
        results.begin("Keyring (gnome-keyring), \(count) items of each program")
        results.time("libsecret's lookup", times["lookup", default: 0], each: rounds)
        results.time("get", times["get", default: 0], each: rounds, .init("libsecret's lookup", ratio("get", "lookup")))
        results.time("libsecret's lookup of what is not there", times["lookup, absent", default: 0], each: rounds)
        results.time(
            "value(for:) of what is not there", times["get, absent", default: 0], each: rounds,
            .init("libsecret's lookup", ratio("get, absent", "lookup, absent")))
        results.time("libsecret's store over an item", times["store", default: 0], each: rounds)
        results.time("set over an item", times["set", default: 0], each: rounds, .init("libsecret's store", ratio("set", "store")))
        let catalog = Catalog(
            allKeys: (0..<count).map { index in
                .key(
                    key(index).moved(
                        from: StorageKey<String>(
                            name: "old-\(index)", domain: .userDefaults(suite: "older"), owner: "Bench", description: "Older")))
            })
        let sweep = try await seconds { try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete() }
        results.time("sweep with nothing to do", sweep)
        try await router.shutdown()
    }
}
