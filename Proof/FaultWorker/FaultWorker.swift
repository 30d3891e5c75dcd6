import Foundation
import LocalData

/// A program of its own for the campaigns of real faults: it prepares the stores of an operation, does it, or looks what became of it.
///
/// Arguments: `list`; or `prepare`, `act` or `check`, the operation's name and the root folder. `act` takes how it ends: `abandon` (without closing its stores), `close`, or
/// `again` (the fault is lifted, and the operation done once more). Each line of the output is a word and what it says.
///
/// Or `live`, `serve` or `foundation`: a process among several on the same stores.
@main
struct FaultWorker {
    let operation: Operation
    let stage: Operation.Stage

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
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
            // Not even what runs at the end of a process.
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
        // A restore closes the router that it is done beside.
        let fresh = FaultWorker(
            operation: operation,
            stage: Operation.Stage(root: stage.root, router: StorageRouter(configuration: Operation.configuration(stage.root))))
        await fresh.tellState("last")
        try? await fresh.stage.router.shutdown()
        await tell("closed") { try await $0.router.shutdown() }
    }

    /// Whether an older place cannot be seen to be empty.
    private func isLeft(_ key: StorageKey<String>) async -> Bool {
        do { return try await stage.router.value(for: key) != nil } catch { return true }
    }

    /// Sweeps until there is nothing left to do: at most twice, and once more to see that it stays so.
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

    /// Does a piece of work, and says what a program is told of it.
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

/// Writes a line past all buffers: what was said before a kill was said.
private func say(_ word: String, _ text: String) {
    let line = "\(word) \(text.replacing("\n", with: " "))"
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    Shim.mark(line)
}

/// The library that makes faults, where the program was started with it.
private enum Shim {
    /// No call fails any more.
    static func lift() {
        typealias Lift = @convention(c) () -> Void
        if let symbol = dlsym(nil, "fault_lift") { unsafeBitCast(symbol, to: Lift.self)() }
    }

    /// Writes a line into the record of changes.
    static func mark(_ line: String) {
        typealias Mark = @convention(c) (UnsafePointer<CChar>) -> Void
        if let symbol = dlsym(nil, "fault_mark") { unsafeBitCast(symbol, to: Mark.self)(line) }
    }
}
