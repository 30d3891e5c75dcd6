import Foundation
import Glibc
import LocalData
import LocalDataTesting

/// Work at the limits of a machine: very many values, a clock that is set, a process that forks.
struct LimitWork {
    let router: StorageRouter
    let clock: TestClock

    /// Does the work that a verb names, and returns the answer; nil for an unknown verb.
    func answer(_ words: [String]) async throws -> String? {
        let count = words.count > 1 ? Int(words[1]) ?? 0 : 0
        switch words.first {
        case "clock":
            clock.advance(by: .seconds(count))
            return "ok"
        case "expire":
            guard let key = LiveKeys.key(words[1]) else { return nil }
            try await router.set(words[2], for: key, lifetime: .seconds(100))
            return "ok"
        case "fill":
            try await fill(Self.names("list-many", count), "value")
            return "ok"
        case "look": return try await "ok \(look(Self.names("list-many", count), "value"))"
        case "ring":
            for name in Self.names("ring", count) { if let key = LiveKeys.key(name) { try await router.set("value", for: key) } }
            return "ok"
        case "rings": return try await "ok \(look(Self.names("ring", count), "value"))"
        case "conflicts": return try await conflicts(Self.names("moving-many", count))
        case "quarantine": return try await "ok \(router.quarantine.values().count)"
        case "fork": return try await divide(writing: words[1])
        default: return nil
        }
    }

    private static func names(_ begin: String, _ count: Int) -> [String] { (0..<count).map { "\(begin)-\($0)" } }

    /// Stores the same value under many names, ten thousand in a commit.
    private func fill(_ names: [String], _ value: String) async throws {
        var rest = names[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(10_000))
            rest = rest.dropFirst(some.count)
            try await router.batch { batch in for name in some { if let key = LiveKeys.key(name) { batch.set(value, for: key) } } }
        }
    }

    /// Returns for how many of the names this value is stored.
    private func look(_ names: [String], _ value: String) async throws -> Int {
        var found = 0
        for name in names { if let key = LiveKeys.key(name), try await router.value(for: key) == value { found += 1 } }
        return found
    }

    /// Stores two different values for each name: one in the destination, and one in the legacy location. Then sweeps,
    /// that is, migrates these keys. The sweep keeps one of the two values and moves the other one into quarantine.
    /// Returns whether the sweep was complete.
    private func conflicts(_ names: [String]) async throws -> String {
        try await fill(names.map { "older-\($0)" }, "theirs")
        try await fill(names.map { "database-\($0)" }, "mine")
        let keys = names.map { Keys.text("database-\($0)", LiveKeys.database).moved(from: Keys.text("older-\($0)", LiveKeys.list)) }
        return await router.sweep(FaultCatalog(allKeys: keys.map { .key($0) })).isComplete ? "ok complete" : "ok incomplete"
    }

    /// Forks repeatedly while a value is being written, until a child has inherited the open lock file. This child
    /// sleeps for a minute. Returns `ok` and the child's process identifier.
    private func divide(writing name: String) async throws -> String? {
        typealias Fork = @convention(c) () -> Int32
        guard let key = LiveKeys.key(name), let symbol = dlsym(nil, "fork") else { return nil }
        let fork = unsafeBitCast(symbol, to: Fork.self)
        let router = router
        let writing = Task { while !Task.isCancelled { try await router.set("before", for: key) } }
        for _ in 0..<5_000 {
            let child = fork()
            if child == 0 {
                alarm(60)
                while true { pause() }
            }
            let folder = "/proc/\(child)/fd"
            let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
            }
            if files.contains(where: { $0.hasSuffix(".lock") }) {
                writing.cancel()
                _ = try? await writing.value
                return "ok \(child)"
            }
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        writing.cancel()
        return "untyped no child has the lock's file"
    }
}
