import Foundation
import LocalData

/// Durable sets: one after the other, and by many tasks at once, against a bare durable rewrite of a file of the same size.
struct Writing {
    let root: URL

    func run() async throws {
        let router = StorageRouter(configuration: configuration(root))
        @Sendable func key(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "key-\(index)", domain: .userDefaults, owner: "Bench", description: "A value")
        }
        try await router.batch { batch in for index in 0..<100 { batch.set("value", for: key(index)) } }
        let path = root.path + "/preferences/bench.plist"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let rewrite = try await median(of: 50) { try await seconds { try durableRewrite(root.path + "/raw", bytes) } }
        let single = try await median(of: 50) { try await seconds { try await router.set("\(Int.random(in: 0...99_999))", for: key(3)) } }
        let group = try await median(of: 10) {
            try await seconds {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<64 { group.addTask { try await router.set("\(Int.random(in: 0...99_999))", for: key(index)) } }
                    try await group.waitForAll()
                }
            }
        }
        print("Durable set in a property list of 100 keys (fsync of the file and of its directory)")
        row("  bare rewrite of the same bytes", String(format: "%.3f ms", rewrite * 1e3))
        row("  one set", String(format: "%.3f ms", single * 1e3), "against the bare rewrite: \(String(format: "%.1f", single / rewrite))x")
        row(
            "  64 tasks, one set each", String(format: "%.3f ms", group * 1e3),
            "sets per second against one after the other: \(String(format: "%.1f", single * 64 / group))x")
    }

    private func durableRewrite(_ path: String, _ bytes: Data) throws {
        let file = open(path + ".tmp", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(file) }
        _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard fsync(file) == 0, rename(path + ".tmp", path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        let directory = open((path as NSString).deletingLastPathComponent, O_RDONLY)
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
