import Foundation
import LocalData

/// A program that uses LocalData. The tests with real faults (`Proof/RealFaults`) start it, and then kill it or make
/// its system calls fail.
///
/// An ``Operation`` is something that the program does with its stores, such as a set. The arguments are `list` (prints
/// all operations), or a verb, the name of an operation, the root folder, and an ending. The verbs are:
/// - `prepare` fills the stores.
/// - `act` does the operation.
/// - `check` reads the result, sweeps (migrates all keys), and does the operation again.
///
/// The ending says what follows an `act`. With `abandon`, the program exits without closing its stores. With `close`,
/// it closes them. With `again`, it lifts the fault, does the operation once more, and closes them.
///
/// Each output line is a word for a step and the result of the step, for example `again acknowledged`.
///
/// If the first argument is `age`, the program lives on a machine for `Prove age`: ``AgeWork``. If it is `live`, `serve`
/// or `foundation`, the program is one of several processes that use the same
/// stores.
@main
struct FaultWorker {
    let operation: Operation
    let stage: Operation.Stage

    /// `main` is synchronous, because valgrind 3.19 crashes or hangs with an asynchronous one.
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            if words.first == "age" { exit(await AgeWork.main(Array(words.dropFirst()))) }
            await main(words)
            done.signal()
        }
        done.wait()
    }

    private static func main(_ words: [String]) async {
        switch words.first {
        case "live": return await LiveWork.main(Array(words.dropFirst()))
        case "serve": return await LiveServer.main(Array(words.dropFirst()))
        case "foundation": return ForeignWriter.main(Array(words.dropFirst()))
        default: break
        }
        if words == ["list"] {
            for operation in Operation.all {
                let manner = operation.mayRefuse ? "refusing" : operation.isAtomic ? "atomic" : "stepwise"
                say(manner, "\(operation.usesKeyring ? "keyring" : "files") \(operation.name)")
            }
            return
        }
        guard words.count >= 3, let operation = Operation.all.first(where: { $0.name == words[1] }) else {
            FileHandle.standardError.write(Data("usage: FaultWorker list | (prepare | act | check) OPERATION ROOT [ENDING]\n".utf8))
            exit(64)
        }
        let root = URL(filePath: words[2])
        let worker = FaultWorker(
            operation: operation,
            stage: Operation.Stage(root: root, router: StorageRouter(configuration: Operation.configuration(root))))
        switch words[0] {
        case "prepare": await worker.prepare()
        case "act": await worker.act(ending: words.count > 3 ? words[3] : "close")
        default: await worker.check()
        }
    }

    private func prepare() async {
        do {
            try await operation.prepare(stage)
            try await stage.router.shutdown()
            say("prepared", "")
        } catch { say("failed", "\(error)") }
    }

    private func act(ending: String) async {
        await tell("told", operation.act)
        switch ending {
        case "abandon":
            await tellState("then")
            // `_exit` skips the exit handlers, so that nothing is closed.
            _exit(0)
        case "again":
            Shim.lift()
            await tell("again", operation.act)
            await tellState("then")
        default: break
        }
        await tell("closed") { try await $0.router.shutdown() }
    }

    private func check() async {
        await tellState("first")
        await settle()
        await tellState("settled")
        for key in operation.older where await isLeft(key) { say("left", "\(key.name)") }
        await tell("again", operation.act)
        // Read with a new router, because a restore closes the router that was in use.
        let fresh = FaultWorker(
            operation: operation,
            stage: Operation.Stage(root: stage.root, router: StorageRouter(configuration: Operation.configuration(stage.root))))
        await fresh.tellState("last")
        try? await fresh.stage.router.shutdown()
        await tell("closed") { try await $0.router.shutdown() }
    }

    /// Whether a legacy location, in which an older program stored a value, is not empty. True also if it cannot be
    /// read.
    private func isLeft(_ key: StorageKey<String>) async -> Bool {
        do { return try await stage.router.value(for: key) != nil } catch { return true }
    }

    /// Makes three sweeps, each of which migrates all keys. The first or the second one must be complete. The third one
    /// must be complete and move nothing.
    private func settle() async {
        do {
            try await stage.router.registerCatalog(FaultCatalog(allKeys: operation.keys))
            let first = await stage.router.sweep()
            let second = await stage.router.sweep()
            if !first.isComplete && !second.isComplete { say("unsettled", "\(second.rows.compactMap(\.message))") }
            let third = await stage.router.sweep()
            if !third.isComplete || !third.moved.isEmpty { say("restless", "\(third.rows.map(\.state))") }
        } catch { say("unsettled", "\(error)") }
    }

    /// Does some work. Prints a word, and after it the result or the error.
    private func tell(_ word: String, _ work: Operation.Work) async {
        do {
            try await work(stage)
            say(word, "acknowledged")
        } catch is Operation.NothingToDo {
            say(word, "nothing")
        } catch let error as StorageError {
            say(word, "\(error.outcome) \(error.code) \(error.message)")
        } catch { say(word, "untyped \(error)") }
    }

    private func tellState(_ word: String) async {
        do { say(word, "state \(try await operation.read(stage).joined(separator: "; "))") } catch let error as StorageError {
            say(word, "error \(error.code) \(error.message)")
        } catch { say(word, "untyped \(error)") }
    }
}

/// Writes a line without buffers, so that a later kill does not lose it.
private func say(_ word: String, _ text: String) {
    let line = "\(word) \(text.replacing("\n", with: " "))"
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    Shim.mark(line)
}

/// The functions of the preloaded library that makes the faults (`Proof/RealFaults/shim.c`). They do nothing if the
/// program was started without this library.
private enum Shim {
    /// Ends the fault: no further call fails.
    static func lift() {
        typealias Lift = @convention(c) () -> Void
        if let symbol = dlsym(nil, "fault_lift") { unsafeBitCast(symbol, to: Lift.self)() }
    }

    /// Adds a line to the log of the preloaded library, if that library records the changes of files.
    static func mark(_ line: String) {
        typealias Mark = @convention(c) (UnsafePointer<CChar>) -> Void
        if let symbol = dlsym(nil, "fault_mark") { unsafeBitCast(symbol, to: Mark.self)(line) }
    }
}
