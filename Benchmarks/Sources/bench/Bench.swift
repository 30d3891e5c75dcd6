import Foundation
import LocalData

/// Measures the ratios that the documentation claims. A ratio divides a figure of LocalData by the same figure of a
/// competing implementation. Both figures come from one run on one machine, and have the same durability.
///
/// Most figures are the median of several rounds. The name of a figure says if its operations are durable.
@main
struct Bench {
    private static let parts = ["sweep": ["moves", "idle", "registration", "programs"]]

    private static let usage = """
        usage: bench [--quick] [--json FILE] [get | set | start | database | sweep | records | bystanders | keyring | server] ... [number ...]
               bench sessions [number] | bench figures | bench [--quick] [--json FILE] ycsb

        Without a subject, all of the first line but the keyring and the server, which Scripts/bench starts.
        moves, idle, registration and programs are parts of sweep.
        --quick    fewer rows and rounds: less than five minutes
        --json     also writes what was measured to a file
        number     how many records or sessions
        """

    static func main() async throws {
        var words = Array(CommandLine.arguments.dropFirst())
        if words.first == "start-once" { return try await Starting.work(Array(words.dropFirst())) }
        if words.first == "records-once" { return try await Records.work(Array(words.dropFirst())) }
        if words.first == "sweep-once" { return try await TwoPrograms.work(in: URL(fileURLWithPath: words[1])) }
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("localdata-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }

        let isQuick = words.contains("--quick")
        words.removeAll { $0 == "--quick" }
        var file: String?
        if let index = words.firstIndex(of: "--json"), index + 1 < words.count {
            file = words[index + 1]
            words.removeSubrange(index...index + 1)
        }
        let (numbers, subjects) = (words.compactMap { Int($0) }.sorted(), Set(words.filter { Int($0) == nil }))
        let known: Set<String> = Set(
            ["get", "set", "start", "database", "sweep", "records", "bystanders", "keyring", "server", "sessions", "figures", "ycsb"]
                + parts["sweep", default: []])
        guard subjects.isSubset(of: known) else {
            print(usage)
            exit(64)
        }
        func isWanted(_ subject: String) -> Bool {
            subjects.isEmpty || subjects.contains(subject) || parts.contains { $0.value.contains(subject) && subjects.contains($0.key) }
        }
        func folder(_ name: String) -> URL { root.appendingPathComponent(name) }

        let results = Results()
        if isWanted("get") { try await Reading(root: folder("get"), results: results).run() }
        if isWanted("set") { try await Writing(root: folder("set"), results: results, isQuick: isQuick).run() }
        if isWanted("start") { try await Starting(root: folder("start"), results: results, rounds: isQuick ? 10 : 50).run() }
        if isWanted("database") {
            try await Databases(root: folder("database"), results: results, isQuick: isQuick).run(
                sizes: isQuick ? [10_000] : [1_000, 10_000, 100_000])
        }
        let sweeping = Sweeping(root: folder("sweep"), results: results)
        if isWanted("moves") { try await sweeping.moves(sizes: isQuick ? [1_000, 5_000] : [1_000, 10_000, 100_000]) }
        if isWanted("idle") { try await sweeping.idle(isQuick ? 10_000 : 100_000) }
        if isWanted("registration") { try await sweeping.registration() }
        if isWanted("programs") { try await TwoPrograms(root: folder("programs"), results: results, rounds: isQuick ? 3 : 5).run() }
        if isWanted("records") {
            let counts = numbers.isEmpty ? (isQuick ? [10_000] : [1_000, 10_000, 100_000]) : numbers
            try await Records(root: folder("records"), results: results, counts: counts).run()
        }
        if isWanted("bystanders") { try await Bystanders(root: folder("bystanders"), results: results).run() }
        if subjects.contains("keyring") {
            try await Keyrings(root: folder("keyring"), results: results).run(sizes: isQuick ? [10] : [10, 100, 1_000])
        }
        #if BENCH_SERVER
            if subjects.contains("server") { try await Servers(root: folder("server"), results: results, isQuick: isQuick).run() }
        #endif
        if subjects.contains("sessions") {
            try await Sessions(root: folder("sessions"), results: results, count: numbers.last ?? 100_000).run()
        }
        if subjects.contains("ycsb") { try await YCSB(root: folder("ycsb"), results: results, isQuick: isQuick).run() }
        if subjects.contains("figures") { try await Figures(root: folder("figures")).run() }
        if let file { try results.write(to: file) }
    }
}

func configuration(_ root: URL) -> StorageConfiguration {
    var configuration = StorageConfiguration(root: root, applicationID: "bench")
    configuration.userDefaultsName = "bench"
    return configuration
}
