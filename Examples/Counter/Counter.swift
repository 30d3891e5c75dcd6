import Foundation
import LocalData
import LocalDataPostgreSQL

/// A job that one worker does.
struct Job: Codable, Identifiable, Sendable {
    var id: Int
    /// The worker that has taken the job.
    var worker: String?
    var isDone = false
}

/// The values of the program, and the place of all of them.
struct Values {
    let token: StorageKey<String>
    let count: StorageKey<Int>
    let jobs: StorageCollection<Job>

    init(in domain: StorageDomain) {
        token = StorageKey(name: "token", domain: domain)
        count = StorageKey(name: "count", domain: domain, defaultValue: 0)
        jobs = StorageCollection("jobs", domain: domain)
    }
}

/// A program of which several processes share a token, a counter and a collection of jobs, on one machine or on several.
@main struct Counter {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else {
            print("usage: counter FOLDER prepare JOBS | work NAME | report")
            return
        }
        let folder = URL(filePath: arguments.removeFirst())
        var configuration = StorageConfiguration(root: folder, applicationID: "org.example.counter")
        configuration.keySource = .keyFile(folder.appending(path: "key").path)
        var domain = StorageDomain.encryptedSQLite(database: "counter")
        if let server = ProcessInfo.processInfo.environment["COUNTER_SERVER"] {
            configuration.usePostgreSQL(PostgreSQLServer(server, deadline: .seconds(30)))
            // This line separates one machine from several.
            domain = .postgreSQL(database: "counter")
        }
        let program = Program(storage: StorageRouter(configuration: configuration), values: Values(in: domain))
        switch arguments.removeFirst() {
        case "prepare": try await program.prepare(jobs: Int(arguments.first ?? "") ?? 100)
        case "work": try await program.work(as: arguments.first ?? "worker")
        default: try await program.report()
        }
        try await program.storage.shutdown()
    }
}

private struct Program {
    let storage: StorageRouter
    let values: Values

    func prepare(jobs count: Int) async throws {
        try await storage.set("secret", for: values.token)
        try await storage.set((0..<count).map { Job(id: $0) }, in: values.jobs)
        try await storage.set(count, for: StorageKey<Int>(name: "number of jobs", domain: values.token.domain))
    }

    /// Takes jobs until there is none, does each, and adds one to the counter. Prints each acknowledged step.
    func work(as name: String) async throws {
        let count = try await storage.get(StorageKey<Int>(name: "number of jobs", domain: values.token.domain))
        // A worker that was killed continues with the job that it had taken.
        for id in (0..<count).shuffled() {
            let isMine = try await storage.update(id, in: values.jobs) { job in
                guard job?.isDone == false, job?.worker == nil || job?.worker == name else { return false }
                job?.worker = name
                return true
            }
            guard isMine else { continue }
            try await storage.update(values.count, default: 0) { $0 += 1 }
            print("counted \(id)")
            let wasOpen = try await storage.update(id, in: values.jobs) { job in
                guard job?.isDone == false, job?.worker == name else { return false }
                job?.isDone = true
                return true
            }
            print(wasOpen ? "did \(id)" : "again \(id)")
            fflush(nil)
        }
    }

    func report() async throws {
        let total = try await storage.get(StorageKey<Int>(name: "number of jobs", domain: values.token.domain))
        var done = 0
        for id in 0..<total where try await storage.get(id, in: values.jobs).isDone { done += 1 }
        print("token \(try await storage.get(values.token))")
        print("count \(try await storage.get(values.count))")
        print("done \(done) of \(total)")
    }
}
