public import BackendContract

/// Names the location of a freshness anchor, which detects that an older copy of an encrypted database was restored.
///
/// The anchor records the latest state of the database outside of the database file. Use one if a restored older state
/// would do harm: a prepaid credit, a list of revoked keys. An attacker who can restore older states of both the
/// database *and* the anchor is not detected.
///
/// ```swift
/// configuration.freshnessAnchors["ledger"] = .keychain()
/// let balance = StorageKey<Int>(name: "balance", domain: .encryptedSQLite(database: "ledger"))
/// do {
///     print(try await StorageRouter(configuration: configuration).get(balance))
/// } catch StorageError.rolledBack {
///     // The file is an older copy, for example from a backup. It is not opened until you accept it.
/// }
/// ```
public struct FreshnessAnchorPlace: Sendable, CustomStringConvertible {
    enum Form: Sendable {
        case keychain(service: String?)
        case file(String)
        case own(any FreshnessAnchor)
    }

    let form: Form

    /// An item in the session's keyring, with the names of the application and the database.
    ///
    /// ```swift
    /// configuration.freshnessAnchors["ledger"] = .keychain(service: "com.example.anchors")
    /// ```
    /// - Parameter service: The keyring's service; nil for the application id.
    public static func keychain(service: String? = nil) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .keychain(service: service)) }

    /// A file with the permissions 0600. It should be on another disk than the database, or in a folder that no backup
    /// of the database covers.
    ///
    /// ```swift
    /// configuration.freshnessAnchors["ledger"] = .file("/mnt/other-disk/ledger.anchor")
    /// ```
    /// - Parameter path: An absolute path, or a path in the data folder. No other database may use the file.
    public static func file(_ path: String) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .file(path)) }

    /// A custom anchor, such as a server or a hardware counter. No other database may use it.
    ///
    /// ```swift
    /// configuration.freshnessAnchors["ledger"] = .anchor(RemoteAnchor())
    /// ```
    public static func anchor(_ anchor: any FreshnessAnchor) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .own(anchor)) }

    /// The location in words.
    public var description: String {
        switch form {
        case .keychain(let service): "keyring\(service.map { " (\($0))" } ?? "")"
        case .file(let path): "file \(path)"
        case .own(let anchor): anchor.name
        }
    }
}
