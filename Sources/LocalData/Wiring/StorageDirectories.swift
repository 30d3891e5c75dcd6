import BackendRuntime
public import Foundation

/// The folders in which the library stores data.
///
/// Use it if the folders of ``StorageConfiguration/xdg(applicationID:version:)`` and
/// ``StorageConfiguration/service(applicationID:version:)`` do not fit. Back up `preferences` and `data`. The library
/// creates `state` and `locks` again if they are lost. The library creates missing folders with the permissions 0700.
///
/// ```swift
/// let directories = StorageDirectories(root: URL(filePath: "/var/lib/shop"))
/// print(directories.preferences, directories.data)  // /var/lib/shop/preferences /var/lib/shop/data
/// ```
public struct StorageDirectories: Hashable, Sendable {
    /// The folder of the property lists.
    public var preferences: String
    /// The folder of databases, sealing keys, the quarantine (values that a person must review), and the witnesses (the
    /// records that values exist).
    public var data: String
    /// The folder of the migration ledger: notes about sweeps, the recorded keys, and the history of the migrations on this
    /// machine. It also contains the notes about the latest keys of databases on servers.
    public var state: String
    /// The folder of the locks between processes. Every program that shares a store must use the same folder, so it
    /// does not depend on the application's id.
    public var locks: String
    /// Whether all property lists in ``preferences`` belong to this program, so that a backup contains all of them.
    ///
    /// It is false for the XDG folders, which all programs of a user share. A backup then contains the property lists
    /// that the program's keys use or have used.
    public var ownsPreferences: Bool
    /// The folder of the caches; nil if no folder is known. A program can delete it at any time.
    package var caches: String?

    /// Creates a list of folders from absolute paths.
    ///
    /// ```swift
    /// let separate = StorageDirectories(
    ///     preferences: "/srv/shop/settings", data: "/srv/shop/data", state: "/srv/shop/state", locks: "/srv/shop/locks",
    ///     ownsPreferences: true)
    /// ```
    public init(preferences: String, data: String, state: String, locks: String, ownsPreferences: Bool = false) {
        (self.preferences, self.ownsPreferences, self.data, self.state) = (preferences, ownsPreferences, data, state)
        self.locks = locks
    }

    /// Creates a list of folders inside one folder.
    ///
    /// ```swift
    /// let inTests = StorageDirectories(root: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString))
    /// ```
    public init(root: URL) {
        let path = root.path
        // Only a path with "//" or "/." may be changed, and Foundation takes long for that.
        let isOdd = zip(path.utf8, path.utf8.dropFirst()).contains { $0 == 0x2F && ($1 == 0x2F || $1 == 0x2E) }
        let root = root.isFileURL && path.hasPrefix("/") && !isOdd ? path : root.standardizedFileURL.path
        self.init(
            preferences: root + "/preferences", data: root + "/data", state: root + "/state", locks: root + "/locks", ownsPreferences: true)
        caches = root + "/caches"
    }

    /// Returns the folders of the XDG base directory specification: `XDG_CONFIG_HOME` for property lists,
    /// `<XDG_DATA_HOME>/<id>/LocalData`, `<XDG_STATE_HOME>/<id>/LocalData`, and `<XDG_STATE_HOME>/LocalData/locks`.
    /// - Throws: ``StorageError`` with `unavailable` when neither the variables nor `HOME` are set.
    static func xdg(applicationID: String, host: HostFacts) throws -> StorageDirectories {
        func base(_ variable: String, _ fallback: String) throws -> String {
            // The specification says that relative paths are invalid and must be ignored.
            if let value = host.environment[variable], value.hasPrefix("/") { return value }
            // Reason: "The home directory comes only from HOME" in Docs/Decisions/Files.md.
            guard let home = host.environment["HOME"], home.hasPrefix("/") else {
                throw StorageError(
                    StorageError.unavailable, key: variable,
                    "No home directory is known. Set \(variable) or HOME, or give the configuration its directories. For a service of systemd, StateDirectory= in its unit is enough. Nothing was read or written."
                )
            }
            return home + "/" + fallback
        }
        var directories = StorageDirectories(
            preferences: try base("XDG_CONFIG_HOME", ".config"),
            data: try base("XDG_DATA_HOME", ".local/share") + "/\(applicationID)/LocalData",
            state: try base("XDG_STATE_HOME", ".local/state") + "/\(applicationID)/LocalData",
            locks: try base("XDG_STATE_HOME", ".local/state") + "/LocalData/locks")
        // Only a program with a cache needs this folder.
        directories.caches = (try? base("XDG_CACHE_HOME", ".cache")).map { $0 + "/\(applicationID)/LocalData" }
        return directories
    }

    /// Returns the folder `STATE_DIRECTORY/LocalData` of a systemd service, or the XDG folders if `STATE_DIRECTORY` is
    /// not set. `CONFIGURATION_DIRECTORY` is not used, because it belongs to root and a service cannot write to it.
    /// - Throws: ``StorageError`` with `unavailable` when neither `STATE_DIRECTORY` nor `HOME` is set.
    static func service(applicationID: String, host: HostFacts) throws -> StorageDirectories {
        // systemd separates several folders by colons. The first one belongs to the service.
        func folder(_ variable: String) -> String? {
            let first = host.environment[variable]?.split(separator: ":").first.map(String.init)
            return first.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        guard let state = folder("STATE_DIRECTORY") else { return try xdg(applicationID: applicationID, host: host) }
        var directories = StorageDirectories(root: URL(fileURLWithPath: state + "/LocalData"))
        if let caches = folder("CACHE_DIRECTORY") { directories.caches = caches + "/LocalData" }
        return directories
    }
}
