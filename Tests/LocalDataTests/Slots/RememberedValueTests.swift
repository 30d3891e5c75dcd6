import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// A key remembers a value that is read twice. The third read does not ask the store, and finds every change nevertheless.
@Suite(.inTurn) struct RememberedValueTests {
    private let machine = TestMachine()
    private let text = textKey("text", .userDefaults)

    /// Returns the value of a key, and how many reads of the store that takes.
    private func read<Value>(_ key: StorageKey<Value>, _ router: StorageRouter) async throws -> (value: Value, reads: Int) {
        func count() -> Int { machine.backends(of: .userDefaults).flatMap(\.log).count { $0.kind == .read } }
        let before = count()
        let value = try await router.get(key)
        return (value, count() - before)
    }

    /// Reads a key until it remembers its value.
    private func warm<Value>(_ key: StorageKey<Value>, _ router: StorageRouter) async throws {
        for _ in 0..<3 { _ = try await router.value(for: key) }
    }

    @Test func `the first two reads ask the store, and further reads do not`() async throws {
        let router = machine.launch()
        try await router.set("a", for: text)
        for expected in [1, 1, 0, 0] {
            let found = try await read(text, router)
            #expect(found == ("a", expected))
        }
    }

    @Test func `every way to change a value is seen by the next read`() async throws {
        let router = machine.launch()
        let other = machine.launch()
        let changes: [(String?, @Sendable (StorageRouter, StorageKey<String>) async throws -> Void)] = [
            ("set", { try await $0.set("set", for: $1) }),
            ("update", { try await $0.update($1) { $0 = "update" } }),
            ("batch", { router, key in try await router.batch { try $0.set("batch", for: key) } }),
            (nil, { try await $0.remove($1) }),
        ]
        for writer in [router, other] {
            for (expected, change) in changes {
                try await warm(text, router)
                try await change(writer, text)
                #expect(try await router.value(for: text) == expected)
            }
        }
        try await warm(text, router)
        machine.writeForeign(.string("foreign"), to: .userDefaults, name: "text")
        #expect(try await router.get(text) == "foreign")
        try await warm(text, router)
        machine.corrupt(.userDefaults, name: "text", bytes: [1])
        await expectRefusal(StorageError.corrupted) { _ = try await router.get(text) }
    }

    @Test func `a change of a property list by another process is seen by the next read`() async throws {
        let stage = try Stage()
        let (router, other) = (stage.launch(), stage.launch())
        for number in 0..<20 {
            try await other.set("\(number)", for: text)
            for _ in 0..<4 { #expect(try await router.get(text) == "\(number)") }
        }
    }

    @Test func `no read returns an older value than a concurrent read or write has shown`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let count = testKey("count", .memory(), of: Int.self)
        try await router.set(0, for: count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for number in 1...2_000 { try await router.set(number, for: count) } }
            for _ in 0..<4 {
                group.addTask {
                    var last = 0
                    while last < 2_000 {
                        let found = try await router.get(count)
                        #expect(found >= last)
                        last = found
                        await Task.yield()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a default is returned while there is no value`() async throws {
        let router = machine.launch()
        let width = StorageKey(name: "width", domain: .userDefaults, owner: "Tests", description: "A width", defaultValue: 800)
        for _ in 0..<4 {
            #expect(try await router.get(width) == 800)
            #expect(try await router.value(for: width) == nil)
            await expectRefusal(StorageError.notFound) { _ = try await router.get(text) }
        }
        try await router.set(3, for: width)
        #expect(try await router.get(width) == 3)
    }

    @Test func `two keys with one slot do not read each other's defaults or types`() async throws {
        let router = machine.launch()
        let (one, two) = (
            StorageKey(name: "n", domain: .userDefaults, defaultValue: 1), StorageKey(name: "n", domain: .userDefaults, defaultValue: 2)
        )
        for _ in 0..<4 {
            #expect(try await router.get(one) == 1)
            #expect(try await router.get(two) == 2)
        }
    }

    private final class Counter: Codable, Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock(\.self) }
        init() {}
        init(from decoder: any Decoder) throws {
            let number = try decoder.singleValueContainer().decode(Int.self)
            count.withLock { $0 = number }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
        func increment() { count.withLock { $0 += 1 } }
    }

    private struct Holder: Codable, Sendable { var counters: [Counter?] = [Counter()] }

    private enum Choice: Codable, Sendable {
        case none
        case counter(Counter)
    }

    @Test func `an object in a value is never shared by two callers`() async throws {
        let router = machine.launch()
        let keys = (
            testKey("object", .userDefaults, of: Counter.self), testKey("holder", .userDefaults, of: Holder.self),
            testKey("choice", .userDefaults, of: Choice.self)
        )
        try await router.set(Counter(), for: keys.0)
        try await router.set(Holder(), for: keys.1)
        try await router.set(.counter(Counter()), for: keys.2)
        for _ in 0..<4 {
            let object = try await router.get(keys.0)
            let holder = try await router.get(keys.1)
            guard case .counter(let chosen) = try await router.get(keys.2) else { throw ProgramFailure("no counter") }
            for counter in [object, try #require(holder.counters[0]), chosen] {
                #expect(counter.value == 0)
                counter.increment()
            }
        }
    }

    private struct Window: Codable, Equatable, Sendable {
        var title = "a"
        var size = [3, 4]
        var note: String?
        var tags: [String: Set<Date>] = ["x": [Date(timeIntervalSince1970: 0)]]
    }

    @Test func `a value of several fields without an object is remembered`() async throws {
        let router = machine.launch()
        let window = testKey("window", .userDefaults, of: Window.self)
        try await router.set(Window(), for: window)
        try await warm(window, router)
        let found = try await read(window, router)
        #expect(found == (Window(), 0))
    }

    @Test func `a value that expires is not remembered`() async throws {
        let clock = TestClock()
        var configuration = StorageConfiguration.inMemory()
        configuration.use(clock)
        let router = StorageRouter(configuration: configuration)
        let session = textKey("session", .memory()).expiring(after: .seconds(60))
        try await router.set("s", for: session)
        try await warm(session, router)
        clock.advance(by: .seconds(61))
        #expect(try await router.value(for: session) == nil)
    }

    @Test func `a cancelled task, a lock, a lock of one store and a shutdown refuse a remembered value`() async throws {
        let router = machine.launch()
        try await router.set("a", for: text)
        try await warm(text, router)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await router.get(text)
        }
        await #expect(throws: (any Error).self) { try await cancelled.value }
        for domain in [nil, StorageDomain.userDefaults] {
            try await warm(text, router)
            if let domain { try await router.lock(domain) } else { try await router.lock() }
            for _ in 0..<3 { await expectRefusal(StorageError.locked) { _ = try await router.get(text) } }
            try await router.unlock(domain)
            #expect(try await router.get(text) == "a")
        }
        try await warm(text, router)
        try await router.shutdown()
        for _ in 0..<3 { await expectRefusal(StorageError.shutDown) { _ = try await router.get(text) } }
    }

    @Test func `a fault of the store is met although the key remembers the value`() async throws {
        let router = machine.launch()
        try await router.set("a", for: text)
        try await warm(text, router)
        machine.makeUnavailable(.userDefaults)
        await expectRefusal(StorageError.unavailable) { _ = try await router.get(text) }
        machine.makeAvailable(.userDefaults)
        #expect(try await router.get(text) == "a")
    }

    @Test func `a large text or data is not remembered`() async throws {
        let router = machine.launch()
        let data = testKey("data", .userDefaults, of: Data.self)
        try await router.set(Data(repeating: 7, count: 100_000), for: data)
        try await warm(data, router)
        let found = try await read(data, router)
        #expect(found.reads == 1)
    }

    @Test func `a key remembers its value again after its router has let all keys forget`() async throws {
        let router = machine.launch()
        try await router.set("a", for: text)
        do {
            let other = TestMachine().launch()
            try await other.set("b", for: text)
            try await warm(text, other)
        }
        try await warm(text, router)
        let found = try await read(text, router)
        #expect(found == ("a", 0))
        let others = (0..<5_000).map { textKey("key \($0)", .userDefaults) }
        for key in others { try await warm(key, router) }
        try await warm(text, router)
        let again = try await read(text, router)
        #expect(again == ("a", 0))
    }

    @Test func `two routers that use one key read their own stores`() async throws {
        let (one, two) = (TestMachine().launch(), TestMachine().launch())
        try await one.set("1", for: text)
        try await two.set("2", for: text)
        for _ in 0..<5 {
            for _ in 0..<3 { #expect(try await one.get(text) == "1") }
            for _ in 0..<3 { #expect(try await two.get(text) == "2") }
        }
    }

    @Test func `a released router leaves no store behind, and 5,000 keys remember their own values`() async throws {
        weak var released: InMemoryStore?
        do {
            let store = InMemoryStore()
            released = store
            var configuration = StorageConfiguration.inMemory()
            configuration.useBackend(for: StorageDomain.Kind("own")) { _ in store }
            let router = StorageRouter(configuration: configuration)
            let keys = (0..<5_000).map { textKey("key \($0)", .custom("own", scope: "s")) }
            for (number, key) in keys.enumerated() { try await router.set("\(number)", for: key) }
            for _ in 0..<3 {
                for (number, key) in keys.enumerated() { #expect(try await router.get(key) == "\(number)") }
            }
            try await warm(Self.lasting, router)
            try await router.shutdown()
        }
        for _ in 0..<1_000 where released != nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(released == nil)
    }

    private static let lasting = textKey("lasting", .custom("own", scope: "s"))
}
