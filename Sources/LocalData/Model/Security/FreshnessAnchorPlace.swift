public import BackendContract

/// The location of a freshness anchor. The anchor records the latest state of an encrypted database outside of the
/// database file, so that the router detects an older copy of the file.
///
/// An attacker who can restore older states of both the database *and* the anchor is not detected.
public struct FreshnessAnchorPlace: Sendable, CustomStringConvertible {
    enum Form: Sendable {
        case keychain(service: String?)
        case file(String)
        case own(any FreshnessAnchor)
    }

    let form: Form

    /// An item in the session's keyring, with the names of the application and the database.
    /// - Parameter service: The keyring's service; nil for the application id.
    public static func keychain(service: String? = nil) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .keychain(service: service)) }

    /// A file with the permissions 0600. It should be on another disk than the database, or in a folder that no backup
    /// of the database covers.
    /// - Parameter path: An absolute path, or a path in the data folder. No other database may use the file.
    public static func file(_ path: String) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .file(path)) }

    /// A custom anchor, such as a server or a hardware counter. No other database may use it.
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
