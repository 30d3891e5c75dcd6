import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization

/// Uses Foundation's `UserDefaults`, or the property list store with other rights or from a second process.
enum UserDefaultsCommand {
    static func run(_ arguments: [String]) async throws {
        switch (arguments.first, arguments.count) {
        case ("write-defaults"?, 2): writeDefaults(arguments[1])
        case ("set-default"?, 4): writeLine("\(setDefault(arguments[1], arguments[2], arguments[3]))")
        case ("print-default"?, 3): writeLine(UserDefaults(suiteName: arguments[1])?.string(forKey: arguments[2]) ?? "nil")
        case ("print-defaults"?, 2): printDefaults(arguments[1])
        case ("hammer-defaults"?, 3): hammerDefaults(arguments[1], name: arguments[2])
        case ("count"?, 4): await count(arguments[1], rounds: Int(arguments[3]) ?? 0, name: arguments[2])
        case ("serve"?, 3): try await serve(arguments[1], name: arguments[2])
        case ("look"?, 3): try await look(arguments[1], arguments[2])
        default: exitWithUsageError("unknown command")
        }
    }

    /// Writes a value of every type that a property list has.
    private static func writeDefaults(_ suite: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return writeLine("no suite") }
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
        writeLine("\(defaults.synchronize())")
    }

    /// Sets a text with Foundation's `UserDefaults`.
    /// - Returns: Whether it was saved.
    static func setDefault(_ suite: String, _ name: String, _ text: String) -> Bool {
        let defaults = UserDefaults(suiteName: suite)
        defaults?.set(text, forKey: name)
        return defaults?.synchronize() == true
    }

    /// Whether standard input has given a line or ended. Then `hammerDefaults` ends.
    private static let isOver = Atomic(false)

    /// Sets one number after the other with Foundation's `UserDefaults`, until standard input gives a line or ends.
    /// The process is not killed, because a kill would leave half a list.
    private static func hammerDefaults(_ suite: String, name: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return writeLine("no suite") }
        Thread.detachNewThread {
            _ = readLine()
            isOver.store(true, ordering: .relaxed)
        }
        var number = 0
        while !isOver.load(ordering: .relaxed) {
            number += 1
            defaults.set(number, forKey: name)
            guard defaults.synchronize() else { return writeLine("failed") }
            if number == 1 { writeLine("started") }
        }
    }

    private static func printDefaults(_ suite: String) {
        guard let defaults = UserDefaults(suiteName: suite) else { return writeLine("no suite") }
        for name in ["text", "integer", "real", "yes", "data"] {
            writeLine("\(name)=\(defaults.object(forKey: name).map { String(describing: $0) } ?? "nil")")
        }
    }

    private static func count(_ path: String, rounds: Int, name: String) async {
        writeLine(await countUp(StorageAddress(name), in: store(path), rounds: rounds) { .native(.integer(Int64($0))) })
    }

    /// Stores one number after the other, in two slots at once.
    /// Prints each number once it is acknowledged, until the process is killed.
    private static func serve(_ path: String, name: String) async throws {
        let store = store(path)
        for number in Int64(1)... {
            let results = try await store.apply([
                .put(.native(.integer(number)), at: StorageAddress(name)), .put(.native(.integer(-number)), at: StorageAddress(name + "'")),
            ])
            guard results.map(\.isApplied) == [true, true] else { return writeLine("failed: \(results)") }
            writeLine("\(number)")
        }
    }

    /// Prints the state of a slot, and the result of changing it.
    private static func look(_ path: String, _ name: String) async throws {
        let store = store(path)
        writeLine("probe=\(try await store.read(StorageAddress(name)).state)")
        writeLine("put=\(try await store.apply(.put(.native(.string("changed")), at: StorageAddress(name))).text)")
    }

    private static func store(_ path: String) -> PropertyListStore {
        PropertyListStore(
            path: path, lockPath: path + ".state/lock", quarantineDirectory: path + ".quarantine", deadline: .seconds(60), runtime: .live)
    }
}
