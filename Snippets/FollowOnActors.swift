// Following a value from the main actor and from another actor.
// snippet.hide
import LocalData

let app = StorageKeyGroup(owner: "App", domain: .memory())

extension StorageKey where Value == Int {
    static let unread: Self = app.key("unread", "The number of unread notes")
}

extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain)
}

@MainActor final class Label { var text = "" }

// snippet.show
/// Shows the token until the router is shut down, or until unlocking the keyring fails.
@MainActor func show(_ storage: StorageRouter, in label: Label) async throws {
    while true {
        do {
            for try await token in storage.values(for: .apiToken) { label.text = token ?? "not logged in" }
            return  // the router was shut down
        } catch StorageError.locked {
            label.text = "locked"
            try await storage.unlock(.keychain)  // may open a prompt; the main actor is free while it is open
        }
    }
}
// snippet.hide

// snippet.show
actor Badge {
    private(set) var unread = 0

    func follow(_ storage: StorageRouter) async throws {
        for try await count in storage.values(for: .unread) { unread = count ?? 0 }
    }
}
// snippet.hide

let storage = StorageRouter(configuration: .inMemory())
try await storage.set("abc", for: .apiToken)
let label = Label()
let shown = Task { try await show(storage, in: label) }
let badge = Badge()
let followed = Task { try await badge.follow(storage) }
try await storage.shutdown()
_ = await (shown.result, followed.result)
