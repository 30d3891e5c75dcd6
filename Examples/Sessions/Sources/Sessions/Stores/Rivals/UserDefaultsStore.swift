import Foundation

/// Stores sessions and tokens with Foundation's `UserDefaults`, and calls `synchronize()` after each change.
///
/// The tokens stay where version 1 stored them, so there is no migration. Nothing is encrypted.
///
/// On Linux, this store loses data in two ways. `synchronize()` first empties the file and then writes it. A process that
/// is killed in between leaves an empty or incomplete file, and the next process begins without any session or token. And
/// `synchronize()` takes no lock: of two processes that write at the same time, one overwrites the change of the other.
actor UserDefaultsStore: SessionStore {
    private let defaults: UserDefaults

    init(suite: String) throws {
        guard let defaults = UserDefaults(suiteName: suite) else { throw CocoaError(.fileReadUnknown) }
        self.defaults = defaults
    }

    func create(_ id: String, user: String) throws -> Bool {
        guard defaults.string(forKey: "session.\(id)") == nil else { return false }
        defaults.set(user, forKey: "session.\(id)")
        try save()
        return true
    }

    func user(of id: String) -> String? { defaults.string(forKey: "session.\(id)") }

    func end(_ id: String) throws {
        defaults.removeObject(forKey: "session.\(id)")
        try save()
    }

    func set(token: String, of user: String) throws { try change { $0[user] = token } }

    func token(of user: String) -> String? { tokens[user] }

    func removeToken(of user: String) throws { try change { $0[user] = nil } }

    private var tokens: [String: String] { defaults.dictionary(forKey: "tokens") as? [String: String] ?? [:] }

    private func change(_ body: (inout [String: String]) -> Void) throws {
        var tokens = tokens
        body(&tokens)
        defaults.set(tokens, forKey: "tokens")
        try save()
    }

    /// Writes the changes to the file, and waits for it.
    private func save() throws {
        guard defaults.synchronize() else { throw CocoaError(.fileWriteUnknown) }
    }
}
