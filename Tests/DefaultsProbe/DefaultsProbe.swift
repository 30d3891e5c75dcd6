import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization

/// What the tests do from another process: use Foundation's `UserDefaults`, or the store itself under other rights or at the same time.
@main
struct DefaultsProbe {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("write-defaults"?, 2): writeDefaults(arguments[1])
        case ("set-default"?, 4): setDefault(arguments[1], arguments[2], arguments[3])
        case ("print-default"?, 3): print(UserDefaults(suiteName: arguments[1])?.string(forKey: arguments[2]) ?? "nil")
        case ("print-defaults"?, 2): printDefaults(arguments[1])
        case ("hammer-defaults"?, 3): hammerDefaults(arguments[1], name: arguments[2])
        case ("count"?, 4): try await count(arguments[1], rounds: Int(arguments[3]) ?? 0, name: arguments[2])
        case ("serve"?, 3): try await serve(arguments[1], name: arguments[2])
        case ("look"?, 3): try await look(arguments[1], arguments[2])
        default: FileHandle.standardError.write(Data("unknown command: \(arguments)\n".utf8))
        }
    }

    /// Writes a value of every kind that a property list has.
    private static func writeDefaults(_ suite: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return print("no suite") }
        defaults.set("Zürich <&> \"quoted\"\n2nd line", forKey: "text")
        defaults.set("", forKey: "empty text")
        defaults.set(42, forKey: "integer")
        defaults.set(Int.min, forKey: "smallest")
        defaults.set(NSNumber(value: UInt64.max), forKey: "unsigned")
        defaults.set(3.25, forKey: "real")
        defaults.set(3.0, forKey: "whole real")
        defaults.set(true, forKey: "yes")
        defaults.set(false, forKey: "no")
        defaults.set(1, forKey: "one")
        defaults.set(Date(timeIntervalSinceReferenceDate: 725_760_000), forKey: "date")
        defaults.set(Data([0, 1, 2, 0xFF]), forKey: "data")
        defaults.set(["a", 1, true, 1.5, ["k": "v"]] as [Any], forKey: "array")
        defaults.set(["inner": ["list": [1, 2], "flag": false] as [String: Any]], forKey: "dictionary")
        print(defaults.synchronize())
    }

    private static func setDefault(_ suite: String, _ name: String, _ text: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return print("no suite") }
        defaults.set(text, forKey: name)
        print(defaults.synchronize())
    }

    /// Whether the program was told to end.
    private static let isOver = Atomic(false)

    /// Sets one number after the other with Foundation's `UserDefaults` until it is told to end: a kill would leave half a list.
    private static func hammerDefaults(_ suite: String, name: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return print("no suite") }
        Thread.detachNewThread {
            _ = readLine()
            isOver.store(true, ordering: .relaxed)
        }
        var number = 0
        while !isOver.load(ordering: .relaxed) {
            number += 1
            defaults.set(number, forKey: name)
            guard defaults.synchronize() else { return print("failed") }
            if number == 1 { FileHandle.standardOutput.write(Data("started\n".utf8)) }
        }
    }

    private static func printDefaults(_ suite: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return print("no suite") }
        for name in ["text", "integer", "real", "yes", "data"] {
            print("\(name)=\(defaults.object(forKey: name).map { String(describing: $0) } ?? "nil")")
        }
    }

    /// Adds one to a number so many times, each under the revision that was seen, and prints how often it had to try.
    private static func count(_ path: String, rounds: Int, name: String) async throws {
        let store = store(path)
        let address = StorageAddress(name)
        var (done, tries) = (0, 0)
        while done < rounds {
            tries += 1
            let probe = try await store.read(address)
            var number: Int64 = 0
            if case .native(.integer(let value))? = probe.record?.payload { number = value }
            let condition = probe.revision.map(StorageMutation.Precondition.revision) ?? .absent
            if try await store.apply(.put(.native(.integer(number + 1)), at: address, if: condition)).isApplied { done += 1 }
        }
        print("tries=\(tries)")
    }

    /// Stores one number after the other, in two slots at once, and prints each once it is acknowledged; until it is killed.
    private static func serve(_ path: String, name: String) async throws {
        let store = store(path)
        for number in Int64(1)... {
            let results = try await store.apply([
                .put(.native(.integer(number)), at: StorageAddress(name)), .put(.native(.integer(-number)), at: StorageAddress(name + "'")),
            ])
            guard results.map(\.isApplied) == [true, true] else { return print("failed: \(results)") }
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
        }
    }

    /// Prints what a look and a change find.
    private static func look(_ path: String, _ name: String) async throws {
        let store = store(path)
        print("probe=\(describe(try await store.read(StorageAddress(name))))")
        switch try await store.apply(.put(.native(.string("changed")), at: StorageAddress(name))) {
        case .failed(let error): print("put=failed \(error.code) \(error.outcome)")
        case let result: print("put=\(result.isApplied ? "applied" : "other")")
        }
    }

    private static func describe(_ probe: StorageProbe) -> String {
        switch probe {
        case .value: "value"
        case .tombstone: "tombstone"
        case .absent: "absent"
        case .locked: "locked"
        case .unavailable(let error): "unavailable \(error.code)"
        case .corrupt: "corrupt"
        }
    }

    private static func store(_ path: String) -> PropertyListStore {
        PropertyListStore(
            path: path, lockPath: path + ".state/lock", quarantineDirectory: path + ".quarantine", deadline: .seconds(60), runtime: .live)
    }
}
