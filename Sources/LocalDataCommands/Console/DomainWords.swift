import LocalData

/// The one notation of the tool for a store: `defaults:SUITE`, `keychain:SERVICE`, `sqlite:DATABASE`.
enum DomainWords {
    /// The word of the tool for a kind of store, by the name that the library uses.
    private static let words = ["userDefaults": "defaults", "encryptedSQLite": "sqlite"]

    /// The names of kinds that only the library uses. The tool does not accept them.
    static var hidden: [String] { Array(words.keys) }

    /// The kinds whose names in backups and messages have a scope in parentheses.
    private static let scoped = ["userDefaults", "encryptedSQLite", "keychain", "vault", "copy", "passphrase"]

    /// Returns a kind and a scope in the notation of the tool.
    static func text(_ kind: String, _ scope: String?) -> String {
        let word = words[kind] ?? kind
        guard let scope, !scope.isEmpty else { return word }
        return "\(word):\(scope)"
    }

    /// Returns the name of a store in a backup, such as `encryptedSQLite(main)`, in the notation of the tool.
    static func text(ofStore name: String) -> String {
        guard name.hasSuffix(")"), let open = name.firstIndex(of: "(") else { return text(name, nil) }
        return text(String(name[..<open]), String(name[name.index(after: open)...].dropLast()))
    }

    /// Returns the name of a store in a backup for its notation in the tool.
    static func storeName(of text: String) -> String {
        guard let colon = text.firstIndex(of: ":") else { return text }
        let word = String(text[..<colon])
        let kind = words.first { $0.value == word }?.key ?? word
        return "\(kind)(\(text[text.index(after: colon)...]))"
    }

    /// Returns a message of the library with the names of stores in the notation of the tool.
    static func replacing(in message: String) -> String {
        var rest = message[...]
        var text = ""
        while let open = rest.firstIndex(of: "(") {
            let before = rest[..<open]
            let kind = scoped.first { before.hasSuffix($0) && !before.dropLast($0.count).hasSuffix(".") }
            guard let kind, let close = rest[open...].firstIndex(of: ")"), !rest[open..<close].contains(where: { ": ".contains($0) }) else {
                text += String(rest[...open])
                rest = rest[rest.index(after: open)...]
                continue
            }
            text += String(before.dropLast(kind.count)) + Self.text(kind, String(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
        }
        return text + String(rest)
    }
}

extension StorageDomain {
    /// The domain in the notation of the tool.
    var text: String { DomainWords.text(kind.name, scope) }
}
