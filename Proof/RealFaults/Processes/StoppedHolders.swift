import BackendRuntime
import Foundation
import TestSupport

/// The answers that another process gets while the holder of a lock is stopped, and after it continues.
package struct StoppedHolder: Sendable {
    package let lock: String
    /// How many times a worker was stopped before it was found to hold the lock.
    package private(set) var tries = 0
    /// The answers, in the order of ``columns``.
    package private(set) var seen: [String] = []
    package private(set) var violations: [String] = []

    package static let columns = ["tries", "change in the store", "read in the store", "change elsewhere", "change after it goes on"]
    /// The locks of a list, of a database, and of the history, in which migrations are recorded.
    package static let locks = ["list", "database", "history"]

    /// Stops a worker that holds a lock, makes calls from another process, and lets the worker continue.
    package init(_ lock: String, _ place: Workplace) async throws {
        self.lock = lock
        let folder = try place.makeRoot()
        let root = try folder.folder("root")
        let other = try ConversingWorker(place, root: root)
        let (name, elsewhere) = lock == "database" ? ("database-9", "list-9") : ("list-9", "database-9")
        for one in [name, elsewhere] { try Self.require(try await other.ask("set \(one) before")) }
        let path =
            switch lock {
            case "list": ("defaults", "\(root)/preferences/shared.plist")
            case "database": ("sqlite", "\(root)/data/databases/shared.sqlite")
            default: ("defaults", "\(root)/state/history.log")
            }
        let file = "\(root)/locks/\(path.0)-\(try await Self.digest(path.1)).lock"
        // A migration holds the lock of the history for too short a time to be stopped in it, so this process takes the lock.
        let isStore = lock != "history"
        let held = isStore ? nil : try PosixFileSystem().lock(file) { false }
        let worker =
            isStore ? try place.liveWorker(root: root, log: folder.file("log"), tag: "1", role: lock, end: folder.file("end")) : nil
        if let worker { try await stop(worker, holding: file) }

        func expect(_ answer: ConversingWorker.Answer, _ expected: String, _ what: String) {
            seen.append("\(answer.error) after \(answer.milliseconds) ms")
            if answer.error != expected { violations.append("\(lock), \(what): \(answer.text)") }
        }
        // The history only records migrations, so its lock blocks neither changes nor reads.
        expect(try await other.ask("set \(name) during"), isStore ? "notApplied timedOut" : "ok", "a change")
        let read = try await other.ask("get \(name)")
        expect(read, "ok", "a read")
        if read.value != (isStore ? "before" : "during") { violations.append("\(lock), a read: \(read.text)") }
        expect(try await other.ask("set \(elsewhere) during"), "ok", "a change elsewhere")
        worker?.signal(SIGCONT)
        held?.release()
        expect(try await other.ask("set \(name) after"), "ok", "a change after it goes on")
        if try await other.ask("get \(name)").value != "after" { violations.append("\(lock): the change after it goes on is not there") }
        await worker?.kill()
        try await other.end()
    }

    private static func require(_ answer: ConversingWorker.Answer) throws {
        if !answer.isDone { throw ProgramFailure("A value cannot be prepared: \(answer.text)") }
    }

    /// The digest in the name of a lock file, from the path of the file that the lock protects.
    private static func digest(_ path: String) async throws -> Substring {
        try await run("sha256sum", input: path).stdout.prefix(32)
    }

    private mutating func stop(_ worker: RunningProgram, holding file: String) async throws {
        while tries < 3_000 {
            tries += 1
            worker.signal(SIGSTOP)
            guard try await worker.isStopped() else {
                throw ProgramFailure("The worker has ended: \(await worker.end().stderr.suffix(500))")
            }
            if let attributes = try? FileManager.default.attributesOfItem(atPath: file),
                let inode = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value, try Self.holds(worker.processID, inode)
            {
                return
            }
            worker.signal(SIGCONT)
            try await Task.sleep(for: .microseconds(Int.random(in: 100...4_000)))
        }
        throw ProgramFailure("No worker was stopped while it held the lock of the \(lock)")
    }

    /// Whether a process holds the lock of one file, and no other lock. A process that waits for the lock does not
    /// hold it.
    private static func holds(_ process: Int32, _ inode: UInt64) throws -> Bool {
        let held = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").filter { line in
            line.contains(" FLOCK ") && !line.contains("->") && line.contains(" \(process) ")
        }
        return held.count == 1 && held[0].contains(":\(inode) ")
    }
}
