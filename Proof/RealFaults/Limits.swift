import Foundation
import TestSupport

/// The answers that a caller gets at a limit of the machine, from a real run, and whether they are the expected ones.
package struct Limit: Sendable {
    /// The limits that are tried.
    package enum Kind: String, CaseIterable, Sendable {
        case descriptors32 = "32 open files"
        case descriptors12 = "12 open files"
        case addressSpace = "256 MiB of address space"
        case smallStacks = "256 MiB of address space, stacks of 1 MiB"
        case fileSize = "a file of at most 64 KiB (SIGXFSZ)"
        case fileSizeIgnored = "a file of at most 64 KiB, the signal ignored"
        case fullDisk = "a full disk"
        case readOnly = "a disk that is mounted read-only"
        case deletedFolder = "a folder that is deleted"
        case replacedFolder = "a folder that is replaced by an older copy"
        case clock = "a clock that is set forth and back"
        case preferences = "100,000 values in one list"
        case keyring = "1,000 items in the keyring"
        case quarantine = "10,000 values for the quarantine, which is full before"
        case fork = "fork without exec while a lock is held"
    }

    package let kind: Kind
    /// The answers, call by call.
    package private(set) var seen: [String] = []
    package private(set) var violations: [String] = []

    private let place: Workplace
    private let folder: TemporaryDirectory
    private var root: String { folder.file("root") }

    /// Tries a limit.
    package init(_ kind: Kind, _ place: Workplace) async throws {
        (self.kind, self.place) = (kind, place)
        folder = try place.makeRoot()
        try FileManager.default.createDirectory(
            atPath: folder.file("root"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        switch kind {
        case .descriptors32: try await limited("-n 32", to: ["ok"])
        case .descriptors12: try await limited("-n 12", to: ["ok", "notApplied unavailable"])
        // A new thread needs memory for its stack. If there is too little, libdispatch waits until another thread ends.
        // Answers then come late or never.
        case .addressSpace: try await limited("-v 262144", to: ["ok", "notApplied unavailable", "notApplied timedOut"], mayEnd: true)
        case .smallStacks: try await limited("-v 262144; ulimit -s 1024", to: ["ok"])
        // SIGXFSZ would end the program, but the threads of libdispatch block this signal. So the write fails with an
        // error.
        case .fileSize: try await limited("-f 64", size: 200_000, to: ["ok", "notApplied noSpace", "notApplied unavailable"])
        case .fileSizeIgnored:
            try await limited("-f 64; trap '' XFSZ", size: 200_000, to: ["ok", "notApplied noSpace", "notApplied unavailable"])
        case .fullDisk: try await onSmallDisk { try await $0.fillDisk() }
        case .readOnly: try await onSmallDisk { try await $0.remount() }
        case .deletedFolder: try await deleteFolder()
        case .replacedFolder: try await replaceFolder()
        case .clock: try await setClock()
        case .preferences: try await manyPreferences()
        case .keyring: try await manyItems()
        case .quarantine: try await manyQuarantined()
        case .fork: try await divide()
        }
    }

    // MARK: Calls

    /// Starts a worker that makes calls.
    /// - Parameter deadline: How long calls may wait, in milliseconds; nil for the library's default.
    private func worker(
        through words: [String] = [], deadline: Int? = nil, environment: [String: String] = Workplace.quiet
    ) throws -> ConversingWorker {
        try ConversingWorker(place, root: root, through: words, deadline: deadline, environment: environment)
    }

    /// The deadline of calls that read very many values, in milliseconds. It is long, so that the report can show how
    /// long such calls take.
    private static let patient = 300_000

    /// Makes a call, and compares its answer with the expected ones.
    /// - Parameter errors: The expected answers: `ok`, or an outcome and a code.
    @discardableResult
    private mutating func expect(
        _ worker: ConversingWorker, _ line: String, _ errors: [String] = ["ok"], value: String? = nil, _ name: String? = nil
    ) async throws -> ConversingWorker.Answer {
        let answer = try await worker.ask(line)
        let words = line.prefix(60).split(separator: " ").prefix(2).joined(separator: " ")
        let told = answer.isDone ? (line.hasPrefix("get") ? answer.value ?? "absent" : answer.text) : answer.error
        seen.append("\(name ?? words): \(told.prefix(30))" + (answer.milliseconds > 200 ? " (\(answer.milliseconds) ms)" : ""))
        if !errors.contains(answer.error) { violations.append("\(words): \(answer.text.prefix(300))") }
        if let value, answer.isDone, (answer.value ?? "absent") != value {
            violations.append("\(words): \(answer.text.prefix(60)), and not \(value)")
        }
        return answer
    }

    /// Stores values before the limit applies.
    private func prepare() async throws {
        let worker = try worker()
        for name in ["list-0", "database-0", "older-moving-1"] {
            guard try await worker.ask("set \(name) before").isDone else { throw ProgramFailure("\(name) cannot be prepared") }
        }
        try await worker.end()
    }

    /// Checks all values with a worker that has no limit. Earlier values and acknowledged changes must be stored. New
    /// changes must succeed.
    private mutating func settle(_ answers: [String: ConversingWorker.Answer?], value: String = "during") async throws {
        let worker = try worker()
        let (count, wrong) = (seen.count, violations.count)
        for name in ["list-0", "database-0", "moving-1"] { try await expect(worker, "get \(name)", value: "before") }
        for (name, answer) in answers.sorted(by: { $0.key < $1.key }) {
            // If the program ended during a change, there is no answer, and the change may be there or not.
            let found = try await expect(worker, "get \(name)")
            if let answer {
                let isThere = found.value == value
                if answer.isDone != isThere { violations.append("\(name) is \(isThere ? "" : "not ")there after \(answer.error)") }
            }
            try await expect(worker, "set \(name) after")
        }
        seen.removeLast(seen.count - count)
        seen.append("without the limit: " + (violations.count == wrong ? "everything there, changes made again" : "something is wrong"))
        try await worker.end()
    }

    // MARK: Limits of the process

    private mutating func limited(_ limit: String, size: Int = 6, to errors: [String], mayEnd: Bool = false) async throws {
        try await prepare()
        let command = "ulimit \(limit); exec \"$@\""
        let worker = try worker(through: ["bash", "-c", command, "bash"])
        let value = size == 6 ? "during" : String(repeating: "x", count: size)
        let guardian = DispatchWorkItem { worker.program.signal(SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: guardian)
        defer { guardian.cancel() }
        var answers: [String: ConversingWorker.Answer?] = [:]
        do {
            for line in ["get list-0", "set list-1 \(value)", "get database-0", "set database-1 \(value)", "get moving-1"] {
                let name = line.split(separator: " ")[1]
                if line.hasPrefix("set") { answers["\(name)"] = .some(nil) }
                let answer = try await expect(worker, line, errors)
                if line.hasPrefix("set") { answers["\(name)"] = .some(answer) }
            }
            try await worker.end()
        } catch {
            let result = await worker.program.end(within: 1)
            let reason = result.stderr.split(separator: "\n").first.map { ": \($0.prefix(80))" } ?? ""
            seen.append(result.status == SIGKILL ? "no answer within a minute" : "the program ends with \(result.status)\(reason)")
            if !mayEnd { violations.append("the program ended with \(result.status)\(reason)") }
        }
        try await settle(answers, value: value)
    }

    // MARK: Limits of the disk

    /// Mounts a small file system over the root folder while a piece of work runs.
    private mutating func onSmallDisk(_ work: @Sendable (inout Limit) async throws -> Void) async throws {
        let mounted = try await run("mount", ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", root])
        guard mounted.status == 0 else { throw ProgramFailure("This limit mounts a file system, and so needs root: \(mounted.stderr)") }
        do { try await work(&self) } catch {
            _ = try await run("umount", ["-l", root])
            throw error
        }
        _ = try await run("umount", ["-l", root])
    }

    private mutating func fillDisk() async throws {
        try await prepare()
        let worker = try worker()
        let value = String(repeating: "x", count: 100_000)
        try await expect(worker, "get database-0")
        // The disk is filled in ever smaller pieces, until there is no space for one byte.
        let filler = root + "/filler"
        _ = try await run(
            "sh",
            [
                "-c",
                "for size in 65536 4096 512 1; do dd if=/dev/zero bs=$size of=\(filler) oflag=append conv=notrunc 2>/dev/null; done; true",
            ])
        var answers: [String: ConversingWorker.Answer?] = [:]
        try await expect(worker, "get list-0", value: "before")
        answers["list-1"] = try await expect(worker, "set list-1 \(value)", ["notApplied noSpace"])
        answers["database-1"] = try await expect(worker, "set database-1 \(value)", ["notApplied noSpace"])
        try await expect(worker, "get database-0", value: "before")
        try FileManager.default.removeItem(atPath: filler)
        for name in ["list-2", "database-2"] {
            answers[name] = try await expect(worker, "set \(name) during", "with room again, set \(name)")
        }
        try await worker.end()
        try await settle(answers.filter { $0.key.hasSuffix("2") })
    }

    private mutating func expect(_ worker: ConversingWorker, _ line: String, _ name: String) async throws -> ConversingWorker.Answer {
        try await expect(worker, line, ["ok"], value: nil, name)
    }

    private mutating func remount() async throws {
        try await prepare()
        let first = try worker()
        for line in ["get list-0", "get database-0"] { try await expect(first, line, value: "before") }
        // Kills the program instead of letting it close its database. Closing would remove files that a reader on a
        // read-only disk needs.
        await first.program.kill()
        seen = []
        func mount(_ option: String) async throws {
            let result = try await run("mount", ["-o", "remount,\(option)", root])
            guard result.status == 0 else { throw ProgramFailure("The file system cannot be mounted anew: \(result.stderr)") }
        }
        try await mount("ro")
        let worker = try worker()
        var answers: [String: ConversingWorker.Answer?] = [:]
        for line in ["get list-0", "get database-0"] { try await expect(worker, line, value: "before") }
        for name in ["list-1", "database-1"] { answers[name] = try await expect(worker, "set \(name) during", ["notApplied accessDenied"]) }
        try await mount("rw")
        for name in ["list-2", "database-2"] {
            answers[name] = try await expect(worker, "set \(name) during", "mounted for writing, set \(name)")
        }
        try await worker.end()
        try await settle(answers)
    }

    // MARK: Limits of the folder

    private mutating func deleteFolder() async throws {
        try await prepare()
        let worker = try worker()
        for line in ["get list-0", "get database-0"] { try await expect(worker, line, value: "before") }
        seen = []
        try FileManager.default.removeItem(atPath: root)
        for line in ["get list-0", "get database-0"] { try await expect(worker, line, value: "absent") }
        var answers: [String: ConversingWorker.Answer] = [:]
        for name in ["list-1", "database-1"] {
            answers[name] = try await expect(
                worker, "set \(name) during", ["ok", "notApplied encryptionKeyMissing", "notApplied unavailable"])
        }
        try await worker.end()
        let next = try self.worker()
        for (name, answer) in answers.sorted(by: { $0.key < $1.key }) {
            try await expect(next, "get \(name)", ["ok"], value: answer.isDone ? "during" : "absent", "the next program, get \(name)")
            try await expect(next, "set \(name) after", ["ok"], value: nil, "the next program, set \(name)")
        }
        try await next.end()
    }

    private mutating func replaceFolder() async throws {
        try await prepare()
        try copyFolder(root, to: folder.file("copy"))
        let worker = try worker()
        for name in ["list-0", "database-0"] { try await expect(worker, "set \(name) later") }
        try FileManager.default.moveItem(atPath: root, toPath: folder.file("away"))
        try FileManager.default.moveItem(atPath: folder.file("copy"), toPath: root)
        var answers: [String: ConversingWorker.Answer?] = [:]
        for line in ["get list-0", "get database-0"] { try await expect(worker, line, value: "before") }
        for name in ["list-1", "database-1"] { answers[name] = try await expect(worker, "set \(name) during", ["ok"]) }
        try await worker.end()
        try await settle(answers)
    }

    // MARK: The clock

    private mutating func setClock() async throws {
        let worker = try worker()
        for name in ["list-0", "database-0"] {
            try await expect(worker, "expire \(name) before")
            try await expect(worker, "get \(name)", value: "before")
        }
        for (seconds, value) in [(200, "absent"), (-200, "before"), (-100_000, "before"), (100_000, "before"), (200, "absent")] {
            try await expect(worker, "clock \(seconds)")
            // The sweep keeps expired values for one more day, so they return when the clock is set back.
            try await expect(worker, "sweep list-0,database-0")
            for name in ["list-0", "database-0"] { try await expect(worker, "get \(name)", value: value) }
        }
        for name in ["list-0", "database-0"] { try await expect(worker, "set \(name) after") }
        try await worker.end()
        let next = try self.worker()
        for name in ["list-0", "database-0"] { try await expect(next, "get \(name)", value: "after") }
        try await next.end()
    }

    // MARK: Very many

    private mutating func manyPreferences() async throws {
        let worker = try worker(deadline: Self.patient)
        try await expect(worker, "fill 100000")
        try await expect(worker, "set list-0 before")
        try await expect(worker, "get list-many-77777", value: "value")
        try await worker.end()
        let next = try self.worker(deadline: Self.patient)
        try await expect(next, "get list-0", ["ok"], value: "before", "the next program, get list-0")
        try await expect(next, "look 100000", value: "100000")
        try await expect(next, "remove list-many-5")
        try await expect(next, "look 100000", value: "99999")
        try await next.end()
    }

    private mutating func manyItems() async throws {
        #if Keyring && os(Linux)
            let keyring = try await offPool { try PrivateKeyring() }
            let worker = try worker(environment: keyring.environment)
            try await expect(worker, "ring 1000")
            try await expect(worker, "set ring-500 other")
            try await expect(worker, "get ring-500", value: "other")
            try await worker.end()
            let next = try self.worker(environment: keyring.environment)
            try await expect(next, "rings 1000", value: "999")
            try await next.end()
        #else
            throw ProgramFailure("There is no keyring: the trait Keyring is off.")
        #endif
    }

    private mutating func manyQuarantined() async throws {
        let worker = try worker(deadline: Self.patient)
        try await expect(worker, "conflicts 10000", value: "incomplete")
        let kept = try await expect(worker, "quarantine").value ?? ""
        if !(1_000..<10_000).contains(Int(kept) ?? 0) { violations.append("the quarantine has \(kept) values") }
        try await expect(worker, "set list-0 before")
        try await worker.end()
        let next = try self.worker(deadline: Self.patient)
        try await expect(next, "quarantine", ["ok"], value: kept, "the next program, quarantine")
        try await expect(next, "get list-0", ["ok"], value: "before", "the next program, get list-0")
        try await next.end()
    }

    // MARK: Fork

    private mutating func divide() async throws {
        for name in ["list-0", "database-0"] {
            let (worker, other) = (try worker(), try worker())
            try await expect(other, "set \(name) before")
            guard let child = try await expect(worker, "fork \(name)").value.flatMap({ Int32($0) }) else { continue }
            seen.removeLast()
            try await expect(
                other, "set \(name) during", ["ok"], value: nil, "beside a child with the lock's file, another process, set \(name)")
            try await expect(worker, "get \(name)", ["ok"], value: "during", "the parent, get \(name)")
            try await expect(worker, "set \(name) after", ["ok"], value: nil, "the parent, set \(name)")
            if Foundation.kill(child, 0) != 0 { violations.append("the child had ended") }
            Foundation.kill(child, SIGKILL)
            try await other.end()
            await worker.program.kill()
        }
    }
}
