import Foundation
import LocalData
import TestSupport
import Testing

/// What another program sees in a property list after LocalData wrote it.
@Suite(.inTurn) struct NativeFormTests {
    func key<Value>(_ name: String, _ type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(name: name, domain: .userDefaults, owner: "Tests", description: "A value")
    }

    @Test func `scalars stay what UserDefaults would have written`() async throws {
        let stage = try Stage()
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        try stage.writePropertyList(["date": date, "text": "a", "number": 1, "flag": true, "real": 0.5])
        let router = stage.launch()
        #expect(try await router.get(key("date", Date.self)) == date)
        try await router.set(date.addingTimeInterval(60), for: key("date"))
        try await router.set("b", for: key("text"))
        try await router.update(key("number", Int.self), default: 0) { $0 += 1 }
        try await router.set(false, for: key("flag"))
        try await router.set(0.1, for: key("real"))
        let list = try stage.propertyList()
        #expect(list["date"] as? Date == date.addingTimeInterval(60))
        #expect(list["text"] as? String == "b")
        #expect(list["number"] as? Int == 2)
        #expect(list["flag"] as? Bool == false)
        #expect(list["real"] as? Double == 0.1)
    }

    @Test func `a date keeps its fraction of a second`() async throws {
        let stage = try Stage()
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123456)
        try await stage.launch().set(date, for: key("date"))
        #expect(try await stage.launch().get(key("date", Date.self)) == date)
    }

    @Test func `data stay data, for the program that wrote them and for those that read text from base 64`() async throws {
        let stage = try Stage()
        try stage.writePropertyList(["bytes": Data([1, 2])])
        let router = stage.launch()
        try await router.update(key("bytes", Data.self), default: Data()) { $0.append(3) }
        try await router.set("Aw==", for: key("text"))
        #expect(try stage.propertyList()["bytes"] as? Data == Data([1, 2, 3]))
        #expect(try await stage.launch().get(key("bytes", Data.self)) == Data([1, 2, 3]))
        #expect(try await stage.launch().get(key("text", Data.self)) == Data([3]))
    }

    @Test func `what other programs stored natively is read as it is`() async throws {
        let stage = try Stage()
        try stage.writePropertyList(["list": ["a", "b"], "map": ["x": 1], "bytes": Data([1, 2]), "json": Data(#"{"x":1}"#.utf8)])
        let router = stage.launch()
        #expect(try await router.get(key("list", [String].self)) == ["a", "b"])
        #expect(try await router.get(key("map", [String: Int].self)) == ["x": 1])
        #expect(try await router.get(key("bytes", Data.self)) == Data([1, 2]))
        #expect(try await router.get(key("json", [String: Int].self)) == ["x": 1])
    }
}
