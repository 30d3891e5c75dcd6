public import BackendContract

/// Where the latest state of an encrypted database is recorded, so that an older file in its place is found.
///
/// The protection is as good as the place: whoever can put back the database *and* the anchor is not found.
public struct FreshnessAnchorPlace: Sendable, CustomStringConvertible {
    enum Form: Sendable {
        case keychain(service: String?)
        case file(String)
        case own(any FreshnessAnchor)
    }

    let form: Form

    /// An item in the session's keyring, named after application and database.
    /// - Parameter service: The keyring's service; nil: the application id.
    public static func keychain(service: String? = nil) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .keychain(service: service)) }

    /// A file with permissions 0600: on another disk than the database, or in a folder that no backup of the database covers.
    /// - Parameter path: An absolute path, or one below the data folder. No other database may use the file.
    public static func file(_ path: String) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .file(path)) }

    /// An anchor of the program's own: a server, a hardware counter. No other database may use it.
    public static func anchor(_ anchor: any FreshnessAnchor) -> FreshnessAnchorPlace { FreshnessAnchorPlace(form: .own(anchor)) }

    /// The place in words.
    public var description: String {
        switch form {
        case .keychain(let service): "keyring\(service.map { " (\($0))" } ?? "")"
        case .file(let path): "file \(path)"
        case .own(let anchor): anchor.name
        }
    }
}
