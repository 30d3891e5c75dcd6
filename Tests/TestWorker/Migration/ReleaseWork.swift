import LocalData

/// Commands of two releases of one program on a value in a release window.
/// In a release window, release 2 keeps the location that release 1 reads up to date.
struct ReleaseWork: Sendable {
    let router: StorageRouter

    private static let older = StorageKey<String>(
        name: "old", domain: .userDefaults(suite: "older"), owner: "Worker", description: "The value, in release 1")
    private static let newer = StorageKey<String>(
        name: "new", domain: .userDefaults(suite: "newer"), owner: "Worker", description: "The value, in release 2"
    ).moved(from: older, keeping: .untilReleased)

    /// Executes a command of one of the releases. Returns nil for an unknown command.
    func answer(_ command: String, _ words: [String]) async throws -> String? {
        let key = command == "release1" ? Self.older : Self.newer
        guard command == "release1" || command == "release2", let verb = words.first else { return nil }
        switch verb {
        case "get": return "value \(try await router.value(for: key) ?? "none")"
        case "sweep": return "\((await router.sweep(OneValue(key: key))).isComplete)"
        case "end":
            try await router.endReleaseWindow(for: key)
            return "done"
        default:
            // The numbers rise, so the last acknowledged number is the highest one.
            for number in 1...(Int(words.dropFirst().first ?? "") ?? 1) {
                try await router.set("\(verb)-\(number)", for: key)
                Progress.shared.say("\(number)")
            }
            return "done"
        }
    }
}

private struct OneValue: StorageKeyCatalog {
    let key: StorageKey<String>
    var allKeys: [AnyStorageKey] { [.key(key)] }
}
