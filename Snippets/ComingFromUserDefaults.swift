// The calls of UserDefaults, and the corresponding calls of LocalData.
// snippet.hide
import Foundation
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

// snippet.show
let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)  // the list of UserDefaults.standard

extension StorageKey where Value == Int {
    static let width: Self = window.key("width", "The window's width in points", default: 800)
}

extension StorageKey where Value == [String] {
    static let recent: Self = window.key("recent", "Recently opened files", default: [])
}
// snippet.hide

let folder = FileManager.default.temporaryDirectory.appending(path: "from-defaults-\(ProcessInfo.processInfo.processIdentifier)")
defer { try? FileManager.default.removeItem(at: folder) }
var configuration = StorageConfiguration(root: folder, applicationID: "com.example.app")
configuration.userDefaultsName = "app"
let list = folder.appending(path: "preferences/app.plist")
try FileManager.default.createDirectory(at: list.deletingLastPathComponent(), withIntermediateDirectories: true)
let written: [String: Any] = [
    "width": 640, "recent": ["a", "b"], "flag": "1", "bytes": Data([1, 2]), "profile": Data(#"{"name":"Kari"}"#.utf8),
]
try PropertyListSerialization.data(fromPropertyList: written, format: .xml, options: 0).write(to: list)
let storage = StorageRouter(configuration: configuration)
check(try await storage.get(.width) == 640)
check(try await storage.get(.recent) == ["a", "b"])
try await storage.remove(.width)
try await storage.remove(.recent)
// snippet.show

let width = try await storage.get(.width)  // integer(forKey:), but 800 if there is none, and an error if it is not a number
let own = try await storage.value(for: .width)  // object(forKey:) as? Int: nil if there is none
try await storage.set(1_024, for: .width)  // set(_:forKey:) and synchronize()
try await storage.update(.recent, default: []) { $0.append("letter.txt") }  // read, change, write: one step
try await storage.remove(.width)  // removeObject(forKey:)
// snippet.hide
check(width == 800 && own == nil)
check(try await storage.get(.recent) == ["letter.txt"])
check(try await !storage.exists(.width))
let now = try PropertyListSerialization.propertyList(from: Data(contentsOf: list), format: nil) as? [String: Any]
check(now?["recent"] is Data)  // JSON
check(now?["flag"] as? String == "1")
let flag: StorageKey<Bool> = window.key("flag", "A text")
do {
    _ = try await storage.get(flag)
    check(false)
} catch StorageError.undecodable {}
let bytes: StorageKey<Data> = window.key("bytes", "Some bytes")
check(try await storage.get(bytes) == Data([1, 2]))
try await storage.set(Data([3]), for: bytes)
let home: StorageKey<URL> = window.key("home", "A place")
try await storage.set(URL(filePath: "/tmp/a b"), for: home)
let then = try PropertyListSerialization.propertyList(from: Data(contentsOf: list), format: nil) as? [String: Any]
check(then?["bytes"] as? Data == Data([3]))
check(try await storage.get(bytes) == Data([3]))
check(then?["home"] as? String == "file:///tmp/a%20b")

// snippet.show
struct Profile: Codable, Sendable { var name: String }

// Data that holds the output of JSONEncoder or PropertyListEncoder is decoded.
let profile: StorageKey<Profile> = window.key("profile", "The profile of the user")
let kari = try await storage.get(profile)
// snippet.hide
check(kari.name == "Kari")

// snippet.show
let shared = StorageDomain.userDefaults(suite: "com.example.shared")  // UserDefaults(suiteName:)
let names = try await storage.names(of: shared)  // dictionaryRepresentation().keys, of this list alone
for try await width in storage.values(for: .width) {  // observing a key
    print(width ?? 800)
    // snippet.hide
    break
    // snippet.show
}
// snippet.hide
check(names.isEmpty)

struct SettingsKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(token)] }
}
// snippet.show
// A secret moves out of the property list. The keys of other programs in it stay unchanged.
let token = StorageKey<String>(name: "api-token", domain: .keychain, owner: "Network", description: "The token for the service")
    .moved(from: window.key("apiToken", "The plaintext token"))
// snippet.hide
check(token.hasMigration)
