import Foundation
import LocalData
import TestSupport
import Testing

/// Native values in property lists: LocalData reads what other programs wrote, and they read what LocalData wrote.
@Suite(.inTurn) struct NativeFormTests {
    func key<Value>(_ name: String, _ type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(name: name, domain: .userDefaults, owner: "Tests", description: "A value")
    }

    @Test func `scalars are stored as UserDefaults stores them`() async throws {
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

    @Test func `Data values are stored as property list data, and a base64 text can be read as Data`() async throws {
        let stage = try Stage()
        try stage.writePropertyList(["bytes": Data([1, 2])])
        let router = stage.launch()
        try await router.update(key("bytes", Data.self), default: Data()) { $0.append(3) }
        try await router.set("Aw==", for: key("text"))
        #expect(try stage.propertyList()["bytes"] as? Data == Data([1, 2, 3]))
        #expect(try await stage.launch().get(key("bytes", Data.self)) == Data([1, 2, 3]))
        #expect(try await stage.launch().get(key("text", Data.self)) == Data([3]))
    }

    @Test func `native arrays, dictionaries and data of other programs can be read`() async throws {
        let stage = try Stage()
        try stage.writePropertyList(["list": ["a", "b"], "map": ["x": 1], "bytes": Data([1, 2]), "json": Data(#"{"x":1}"#.utf8)])
        let router = stage.launch()
        #expect(try await router.get(key("list", [String].self)) == ["a", "b"])
        #expect(try await router.get(key("map", [String: Int].self)) == ["x": 1])
        #expect(try await router.get(key("bytes", Data.self)) == Data([1, 2]))
        #expect(try await router.get(key("json", [String: Int].self)) == ["x": 1])
    }

    struct Profile: Codable, Sendable, Equatable { var name = "Kari", age = 7 }

    @Test func `values that another program encoded as JSON or property list data can be read`() async throws {
        let stage = try Stage()
        let xml = PropertyListEncoder()
        xml.outputFormat = .xml
        let binary = PropertyListEncoder()
        binary.outputFormat = .binary
        try stage.writePropertyList([
            "json": try JSONEncoder().encode(Profile()), "xml": try xml.encode(Profile()), "binary": try binary.encode(Profile()),
            "list": try binary.encode([Profile(), Profile()]),
        ])
        let router = stage.launch()
        for name in ["json", "xml", "binary"] {
            #expect(try await router.get(key(name, Profile.self)) == Profile(), "\(name)")
        }
        for name in ["xml", "binary"] {
            #expect(try await router.get(plistKey(name, Profile.self)) == Profile(), "\(name)")
        }
        #expect(try await router.get(key("list", [Profile].self)) == [Profile(), Profile()])
        #expect(try await router.get(plistKey("list", [Profile].self)) == [Profile(), Profile()])
        #expect(try await router.get(key("xml", Data.self)) == xml.encode(Profile()), "data asked for as data stay as they are")
    }

    func plistKey<Value>(_ name: String, _ type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(name: name, domain: .userDefaults, serializer: .plist, owner: "Tests", description: "A value")
    }

    @Test func `a URL that another program stored as text is read as UserDefaults reads it`() async throws {
        let stage = try Stage()
        try stage.writePropertyList([
            "path": "/tmp/a b", "home": "~/notes", "web": "https://example.com/a?b=c#d", "file": "file:///tmp/a%20b", "none": "",
        ])
        let router = stage.launch()
        #expect(try await router.get(key("path", URL.self)) == URL(fileURLWithPath: "/tmp/a b"))
        #expect(try await router.get(key("home", URL.self)).path.hasSuffix("/notes"))
        #expect(try await router.get(key("home", URL.self)).path.hasPrefix("/"))
        #expect(try await router.get(key("web", URL.self)) == URL(string: "https://example.com/a?b=c#d"))
        #expect(try await router.get(key("file", URL.self)) == URL(string: "file:///tmp/a%20b"))
        let error = await #expect(throws: StorageError.self) { try await router.get(key("none", URL.self)) }
        #expect(error?.code == StorageError.undecodable)
        // LocalData stores a URL as its complete text, and reads it back unchanged.
        let set = try #require(URL(string: "https://example.com/a?b=c#d"))
        try await router.set(set, for: key("path"))
        #expect(try await stage.launch().get(key("path", URL.self)) == set)
        #expect(try stage.propertyList()["path"] as? String == set.absoluteString)
    }
}
