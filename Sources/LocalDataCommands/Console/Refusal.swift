import LocalData

/// An error that the tool finds before it calls the library: mostly a name that does not exist.
struct Refusal: Error {
    let status: ExitStatus
    /// The kind of error, for programs. It is the member `error` of the JSON.
    let code: String
    /// The name that was refused.
    let name: String
    let message: String
    /// The names that exist; nil if there is no such list.
    var known: [String]?

    /// Returns the error for a name that does not exist. Its message lists the existing names.
    static func unknown(_ code: String, _ name: String, _ message: String, known: [String]) -> Refusal {
        let list = known.isEmpty ? "There is none." : "Known: \(known.joined(separator: ", "))."
        return Refusal(status: .unknownName, code: code, name: name, message: "\(message) \(list)", known: known)
    }

    /// Returns the error for an application that stored nothing.
    static func unknownApplication(_ id: String, known: [String]) -> Refusal {
        unknown("unknownApplication", id, "The application \(id) stored nothing in this session.", known: known)
    }

    /// Returns the error for a domain without a store.
    static func unknownStore(_ domain: StorageDomain, known: [String]) -> Refusal {
        unknown("unknownStore", domain.text, "There is no \(domain.what) \(domain.text).", known: known)
    }

    /// Returns the error for a store that existed in an earlier run and does not exist now.
    static func lostStore(_ domain: StorageDomain) -> Refusal {
        Refusal(
            status: .damaged, code: "lostStore", name: domain.text,
            message:
                "The \(domain.what) \(domain.text) is lost: the ledger records it, and its file does not exist. Restore a backup, or begin with an empty one after forget \(domain.text)."
        )
    }

    /// Returns the error for the backup of another application than the options name.
    static func foreignBackup(of application: String, _ id: String) -> Refusal {
        Refusal(
            status: .wrongKey, code: "wrongContext", name: id,
            message: "The backup belongs to the application \(application), not to \(id): --app-id \(application).")
    }

    /// Returns the error for a file that does not exist.
    static func unknownFile(_ path: String) -> Refusal {
        Refusal(status: .unknownName, code: "unknownFile", name: path, message: "There is no file \(path).")
    }

    /// Returns the error for a file that must not exist yet.
    static func existingFile(_ path: String) -> Refusal {
        Refusal(
            status: .exists, code: "fileExists", name: path,
            message: "The file \(path) exists, and is never replaced. Nothing was written.")
    }
}

extension StorageDomain {
    /// The kind of store in words.
    fileprivate var what: String {
        switch kind {
        case .userDefaults: "property list"
        case .keychain: "keyring service"
        case .encryptedSQLite: "database"
        default: "store"
        }
    }
}
