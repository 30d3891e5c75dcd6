// A release that can be rolled back: a value stays readable for the release before, in its shape.
// snippet.hide
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

let settings = StorageKeyGroup(owner: "Settings", domain: .userDefaults)
var configuration = StorageConfiguration.inMemory()
configuration.applicationVersion = "2.0"
let (versionOne, router) = (StorageRouter(configuration: configuration), StorageRouter(configuration: configuration))

// snippet.show
struct ThemeV1: Codable, Sendable {
    var name: String
    var size: Int
}

struct Theme: Codable, Sendable {
    var title: String
    var size: Int
    var accent: String  // version 1 knows nothing of it
}

let theme: StorageKey<Theme> = settings.key("theme", "The look of the windows")
    .evolving(
        Evolution.from(ThemeV1.self)
            .to { old in
                Theme(title: old.name, size: old.size, accent: "grey")
            } down: { new in
                ThemeV1(name: new.title, size: new.size)
            },
        keeping: .until(version: "3.0"), readableBy: 1
    ) { older, newer in
        // Version 1 has written since: what it knows is the truth, and the rest stays.
        Theme(title: older.title, size: older.size, accent: newer.accent)
    }
// snippet.hide
let old: StorageKey<ThemeV1> = settings.key("theme", "The look of the windows")
try await router.set(Theme(title: "Sky", size: 10, accent: "blue"), for: theme)
check(try await versionOne.get(old).name == "Sky")
try await versionOne.set(ThemeV1(name: "Sea", size: 12), for: old)
let both = try await router.get(theme)
check(both.title == "Sea" && both.size == 12 && both.accent == "blue")
try await router.sweep(Keys()).requireComplete()
check(try await versionOne.get(old).size == 12)

struct Keys: StorageKeyCatalog { var allKeys: [AnyStorageKey] { [.key(theme)] } }

// snippet.show
// The last program of version 1 is gone before version 3.0 is out: end the window by a call.
try await router.endReleaseWindow(of: theme)
// snippet.hide
check(try await router.storedValue(for: theme)?.schemaVersion == 2)
check(try await router.get(theme).accent == "blue")
