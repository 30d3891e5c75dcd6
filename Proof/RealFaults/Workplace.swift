import Foundation
import Synchronization
import TestSupport

/// The programs and folders of a campaign: the shim (a preloaded library that makes the faults), the worker, and a
/// folder for each run.
package final class Workplace: Sendable {
    /// An operation of the worker.
    package struct Operation: Hashable, Sendable {
        package enum Manner: String, Sendable {
            /// All lines of the stored state change at once.
            case atomic
            /// Each line changes separately.
            case stepwise
            /// Each line changes separately, and reads may throw an error until the operation was done again.
            case refusing
        }

        package let name: String
        let manner: Manner
        /// Whether values are in the keyring. If so, each run must fill its stores itself, because a copy of the folder
        /// does not contain these values.
        package let usesKeyring: Bool
    }

    /// The operations of the worker.
    package let operations: [Operation]
    private let folder: TemporaryDirectory
    private let library: String
    let worker: String
    #if Keyring && os(Linux)
        private let keyring = Mutex<PrivateKeyring?>(nil)
    #endif

    /// Compiles the shim, and asks the worker for its operations.
    package init() async throws {
        folder = try TemporaryDirectory()
        library = folder.file("faults.so")
        worker = try Program.built("FaultWorker")
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "shim.c").path
        let compiled = try await run("gcc", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl", "-lpthread"])
        guard compiled.status == 0 else { throw ProgramFailure("The library does not compile: \(compiled.stderr)") }
        operations = try await run(worker, ["list"]).lines.compactMap { line in
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            return Operation.Manner(rawValue: words[0]).map { Operation(name: words[2], manner: $0, usesKeyring: words[1] == "keyring") }
        }
    }

    /// Creates a folder for the stores of one run. It is removed with the last reference.
    func makeRoot() throws -> TemporaryDirectory { try TemporaryDirectory() }

    /// The environment of a program with the keyring that all runs share. The keyring starts when it is first needed.
    private func environmentOfKeyring() throws -> [String: String] {
        #if Keyring && os(Linux)
            return try keyring.withLock { keyring in
                let started = try keyring ?? PrivateKeyring()
                keyring = started
                return started.environment
            }
        #else
            throw ProgramFailure("There is no keyring: the trait Keyring is off.")
        #endif
    }

    /// The keyring service that belongs to the stores of a run.
    private func service(of root: String) -> String { "faults-" + (root as NSString).deletingLastPathComponent.suffix(20) }

    /// Runs the worker.
    /// - Parameters:
    ///   - verb: `prepare`, `act` or `check`.
    ///   - plan: What the shim does; nil to run without it.
    ///   - log: The file that the shim writes to.
    func work(
        _ verb: String, _ operation: Operation, in root: String, ending: String = "close", plan: String? = nil, log: String? = nil,
        ignoring ignored: String? = nil
    ) async throws -> Telling {
        var environment = ProcessInfo.processInfo.environment
        if operation.usesKeyring {
            environment = try await offPool { [self] in try environmentOfKeyring() }
            environment["FAULT_SERVICE"] = service(of: root)
            environment["FAULT_SOCKETS"] = "1"
        }
        // Switch off Swift's backtraces, so that reports of failed runs do not contain the backtrace of a crashed
        // worker.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        if let plan {
            environment["LD_PRELOAD"] = library
            environment["FAULT_ROOT"] = root
            environment["FAULT_PLAN"] = plan
            environment["FAULT_LOG"] = log
            environment["FAULT_IGNORE"] = ignored
        }
        let clock = ContinuousClock()
        let begin = clock.now
        let result = try await run(worker, [verb, operation.name, root, ending], environment: environment, limit: 300)
        return Telling(result, seconds: begin.duration(to: clock.now) / .seconds(1))
    }
}

/// The output of a run of the worker.
struct Telling: Sendable {
    let lines: [(word: String, text: String)]
    let status: Int32
    let errors: String
    let seconds: Double

    init(_ result: ProgramResult, seconds: Double) {
        lines = result.lines.map { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
        (status, errors, self.seconds) = (result.status, result.stderr, seconds)
    }

    /// The text after a word; nil if no line begins with that word.
    subscript(word: String) -> String? { lines.last { $0.word == word }?.text }

    /// Whether the operation succeeded, or had been done before.
    func isDone(_ word: String) -> Bool { ["acknowledged", "nothing"].contains(self[word]) }

    /// The stored state that the worker printed after a word, as lines; nil if it printed an error instead.
    func state(_ word: String) -> [String]? {
        guard let text = self[word], text.hasPrefix("state ") else { return nil }
        return text.dropFirst("state ".count).split(separator: "; ").map(String.init)
    }

    /// The whole output, for a report.
    var text: String {
        lines.map { "\($0.word) \($0.text)" }.joined(separator: "\n      ") + (errors.isEmpty ? "" : "\n      \(errors.prefix(2000))")
    }
}

/// Copies a folder with all of its content.
func copyFolder(_ source: String, to destination: String) throws {
    if FileManager.default.fileExists(atPath: destination) { try FileManager.default.removeItem(atPath: destination) }
    try FileManager.default.copyItem(atPath: source, toPath: destination)
}
