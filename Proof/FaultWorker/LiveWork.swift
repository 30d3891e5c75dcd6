import Foundation
import Glibc
import LocalData
import LocalDataTesting
import Synchronization

/// A process that makes random calls on values that it shares with other processes. It writes a line into a log before
/// each call and after each answer.
///
/// Arguments: `live`, the root folder, the log file, a unique tag of the process, a role, and the path of a file. The
/// process ends when this file exists. The roles are:
/// - `newer` and `older`: the two releases of a program. The older one uses only the legacy location of a moved value.
/// - `list`, `database` and `moving`: uses only values of this kind.
/// - `beside`: uses only values that belong to this process, while a program without LocalData writes the same property
///   list.
/// - `forgetful`: as `newer`, but acknowledges some writes without making them.
/// - `twice`: as `newer`, but makes some increments twice.
///
/// The check of the logs must notice the mistakes of `forgetful` and `twice`.
struct LiveWork: Sendable {
    let router: StorageRouter
    let diary: CallLog
    let tag: String
    let role: String
    /// The work is over when this file exists.
    let end: String

    static func main(_ words: [String]) async {
        guard words.count > 4, let diary = CallLog(words[1]) else { exit(64) }
        let router = StorageRouter(configuration: LiveKeys.configuration(words[0]))
        let work = LiveWork(router: router, diary: diary, tag: words[2], role: words[3], end: words[4])
        await withTaskGroup { group in
            for caller in 0..<(work.role == "beside" ? 1 : 2) { group.addTask { await work.call(caller) } }
        }
        try? await router.shutdown()
    }

    private func call(_ caller: Int) async {
        var number = 0
        while !isThere(end) {
            number += 1
            let call = role == "beside" ? besideForeign(number) : next("\(tag)-\(caller)-\(number)")
            await tell(call, number)
            // If this write was only acknowledged and not made, read the value at once. Later, the write of another
            // worker would hide that this write is missing.
            if isForgotten(call, number) { await tell(LiveCall(verb: "get", name: call.name), number) }
        }
    }

    private func tell(_ call: LiveCall, _ number: Int) async {
        let id = diary.begin(call)
        diary.end(id, await answer(call, number))
    }

    private func isForgotten(_ call: LiveCall, _ number: Int) -> Bool {
        role == "forgetful" && call.verb == "set" && number.isMultiple(of: 4)
    }

    private func answer(_ call: LiveCall, _ number: Int) async -> String {
        if isForgotten(call, number) { return "ok" }
        if role == "twice", call.verb == "add", number.isMultiple(of: 4) { _ = await call.answer(router) }
        return await call.answer(router)
    }

    /// The numbers of the two `moving` values that are in use now. All processes change to the next number at the same
    /// time.
    private var moving: [Int] {
        let turn = CallLog.now() / 1_500_000_000
        return [turn % LiveKeys.moving, (turn + LiveKeys.moving - 1) % LiveKeys.moving]
    }

    private func next(_ value: String) -> LiveCall {
        let number = Int.random(in: 0..<3)
        let moves = moving.randomElement() ?? 0
        let names: [String] =
            switch role {
            case "older": ["list-\(number)", "list-count", "older-rolling"]
            case "list": ["list-\(number)"]
            case "database": ["database-\(number)"]
            case "moving": ["moving-\(Int.random(in: 0..<LiveKeys.moving))"]
            default:
                [
                    "list-\(number)", "list-\(number)", "list-count", "database-\(number)", "database-\(number)", "database-count",
                    "moving-\(moves)",
                    "moving-count-\(moves)", "rolling", "sweep",
                ]
            }
        let name = names.randomElement() ?? ""
        if name == "sweep" {
            return LiveCall(
                verb: "sweep", name: moving.flatMap { ["moving-\($0)", "moving-count-\($0)"] }.joined(separator: ",") + ",rolling")
        }
        let dice = Int.random(in: 0..<100)
        if name.contains("count") { return LiveCall(verb: dice < 70 ? "add" : "get", name: name) }
        if dice < 45 { return LiveCall(verb: "get", name: name) }
        if dice < 60, !name.hasSuffix("rolling") { return LiveCall(verb: "remove", name: name) }
        return LiveCall(verb: "set", name: name, argument: value)
    }

    /// Writes and reads values of this process alternately.
    private func besideForeign(_ number: Int) -> LiveCall {
        let name = "own-\(tag)-\(number / 2 % 3)"
        return number % 2 == 0
            ? LiveCall(verb: "set", name: name, argument: "\(number)") : LiveCall(verb: "get", name: "own-\(tag)-\((number - 1) / 2 % 3)")
    }
}

/// Whether a file exists.
private func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

/// The log of a worker. It has one line for the start of each call and one line for its end. Each line is written with
/// one system call, so a kill may leave a call without an end, but no torn line.
final class CallLog: Sendable {
    private let file: Int32
    private let number = Mutex(0)

    /// Creates the log; nil if the file cannot be opened.
    init?(_ path: String) {
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        if file < 0 { return nil }
    }

    /// The time since the machine's start in nanoseconds, the same in all processes.
    static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    func begin(_ call: LiveCall) -> Int {
        let id = number.withLock { number in
            number += 1
            return number
        }
        write("begin \(Self.now()) \(id) \(call.verb) \(call.verb == "sweep" ? "-" : call.name) \(call.argument)")
        return id
    }

    func end(_ id: Int, _ answer: String) {
        let now = Self.now()
        write("end \(now) \(id) \(answer)")
    }

    private func write(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        if Glibc.write(file, bytes, bytes.count) != bytes.count { abort() }
    }
}

/// A program that reads calls from its standard input and makes them. Each line is a verb, a name and an argument, and
/// the program answers with one line.
///
/// Arguments: `serve`, the root folder, and how many milliseconds a call may wait.
enum LiveServer {
    static func main(_ words: [String]) async {
        let clock = TestClock()
        var configuration = LiveKeys.configuration(words.first ?? "", deadline: words.count > 1 ? Int(words[1]) : nil)
        configuration.use(clock)
        let router = StorageRouter(configuration: configuration)
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            let call = LiveCall(verb: words.first ?? "", name: words.count > 1 ? words[1] : "-", argument: words.count > 2 ? words[2] : "")
            let begin = CallLog.now()
            var answer = ""
            if let told = await telling({ try await LimitWork(router: router, clock: clock).answer(words) }) {
                answer = told
            } else {
                answer = await call.answer(router)
            }
            FileHandle.standardOutput.write(Data("\((CallLog.now() - begin) / 1_000_000) \(answer)\n".utf8))
        }
        try? await router.shutdown()
    }
}

/// A program that writes the same property list with Foundation's `UserDefaults`.
///
/// Arguments: `foundation`, a list of tags, and the path of a file. The program also writes the `own` values of the
/// processes with these tags. It ends when the file exists. `XDG_CONFIG_HOME` is the folder of the property list.
enum ForeignWriter {
    static func main(_ words: [String]) {
        guard words.count > 1, let defaults = UserDefaults(suiteName: "shared") else { exit(64) }
        let names = words[0].split(separator: ",").map { "own-\($0)-0" }
        var number = 0
        while !isThere(words[1]) {
            number += 1
            defaults.set("foreign-\(number)", forKey: "foreign")
            if number % 10 == 0, let name = names.randomElement() { defaults.set("foreign-\(number)", forKey: name) }
            _ = defaults.synchronize()
            usleep(5_000)
        }
        print(number)
    }
}
