import Foundation
import Synchronization
import TestSupport

/// Power cuts on a real file system. An operation runs on ext4 in a disk image, which is copied while it is mounted.
///
/// Each copy is the disk that a power cut would leave at that moment: it lacks data that the kernel has not written
/// back. The program is stopped while the image is copied. If the image changes during the copy, it is copied again, so
/// each copy shows one moment. Mounting the copy recovers the journal.
extension Trials {
    /// The results of the checks of all copies for an operation.
    package struct Copies: Sendable {
        package var count = 0
        /// How many copies were made after the program got its acknowledgement.
        package var afterwards = 0
        /// How many copies show the state before the operation, and how many show the state after it.
        package var before = 0, after = 0
        package var violations: [Violation] = []
    }

    private struct Copy {
        let file: String
        let told: String?
        let moment: String
    }

    /// Repeats the operation until enough copies were made and checked.
    package func ext4(copies wanted: Int) async throws -> Copies {
        let folder = try place.makeRoot()
        // Every disk is mounted at the same path, because stored data may contain paths.
        let disk = try folder.folder("disk")
        let blank = folder.file("blank.img")
        try await Self.command("truncate", "-s", "24M", blank)
        try await Self.command("mkfs.ext4", "-q", "-F", blank)
        var result = Copies()
        var runs = 0
        while result.count < wanted, runs < wanted {
            runs += 1
            let image = folder.file("image.img")
            try await Self.command("cp", "--sparse=always", blank, image)
            let copies = try await Self.mounted(image, at: disk) {
                try await begin(at: "\(disk)/root")
                try await Self.command("sync", "-f", disk)
                return try await self.copies(of: image, root: "\(disk)/root", into: folder)
            }
            // A run may have many copies. Only a few copies of each run are checked, so that more runs, and with them
            // more different moments, are checked.
            for copy in copies.shuffled().prefix(max(2, wanted / 8)) + copies.suffix(1) where result.count < wanted {
                let found = try await Self.mounted(copy.file, at: disk) { try await place.work("check", operation, in: "\(disk)/root") }
                result.count += 1
                if copy.told == "acknowledged" { result.afterwards += 1 }
                if found.state("first") == expectation.before { result.before += 1 }
                if found.state("first") == expectation.after { result.after += 1 }
                let wrong = expectation.violations(told: copy.told, then: nil, found: found)
                if !wrong.isEmpty {
                    let text = """
                        \(operation.name): copy \(copy.moment), told \(copy.told ?? "nothing"): \(wrong.joined(separator: "; "))
                              \(found.text)
                        """
                    result.violations.append(Violation(description: text))
                }
            }
            for copy in copies { try FileManager.default.removeItem(atPath: copy.file) }
        }
        return result
    }

    /// Runs the operation, and copies the image at random moments of its run and after its end.
    private func copies(of image: String, root: String, into folder: TemporaryDirectory) async throws -> [Copy] {
        let program = try RunningProgram(place.worker, ["act", operation.name, root, "close"], environment: Workplace.quiet)
        let told = Shared<String?>(nil)
        let reading = Task {
            while let line = try? await program.line() {
                if line.hasPrefix("told ") { told.value.withLock { $0 = line.split(separator: " ").dropFirst().first.map(String.init) } }
            }
        }
        var copies: [Copy] = []
        let begin = ContinuousClock.now
        func copy(_ moment: String) async throws {
            let answer = told.value.withLock(\.self)
            let file = folder.file("copy-\(copies.count).img")
            repeat {
                try await Self.command("cp", "--sparse=always", image, file)
            } while try await TestSupport.run("cmp", ["-s", image, file]).status != 0
            copies.append(Copy(file: file, told: answer, moment: moment))
        }
        // Limits the number of copies of a run. The program is stopped for each copy, but the deadline of its call does
        // not wait. After many stops, the call would time out.
        while copies.count < 12 {
            try await Task.sleep(for: .microseconds(Int.random(in: 100...8_000)))
            program.signal(SIGSTOP)
            guard try await program.isStopped() else { break }
            try await copy("\(copies.count) of a run, after \(begin.duration(to: .now))")
            program.signal(SIGCONT)
        }
        let result = await program.end(within: 60)
        _ = await reading.value
        guard result.status == 0, result.lines.contains(where: { $0 == "told acknowledged" || $0.contains(" timedOut ") }) else {
            throw ProgramFailure("\(operation.name), on ext4: \(result.stdout) \(result.stderr)")
        }
        try await copy("after the run")
        return copies
    }

    /// Mounts a disk image while a piece of work runs.
    private static func mounted<Answer>(_ image: String, at path: String, _ work: () async throws -> Answer) async throws -> Answer {
        try await command("mount", "-o", "loop", image, path)
        do {
            let answer = try await work()
            try await command("umount", path)
            return answer
        } catch {
            _ = try await TestSupport.run("umount", ["-l", path])
            throw error
        }
    }

    private static func command(_ words: String...) async throws {
        let result = try await TestSupport.run(words[0].contains("mkfs") ? "/sbin/\(words[0])" : words[0], Array(words.dropFirst()))
        guard result.status == 0 else {
            throw ProgramFailure(
                "\(words.joined(separator: " ")): \(result.stderr) An image is mounted with a loop device, which needs root.")
        }
    }
}
