import BackendRuntime
public import Foundation

/// The folders in which everything is kept. What to back up: `preferences` and `data`; `state` and `locks` can be made anew.
public struct StorageDirectories: Hashable, Sendable {
    /// The property lists.
    public var preferences: String
    /// Databases, sealing keys, the quarantine and the witnesses.
    public var data: String
    /// The migration ledger.
    public var state: String
    /// The locks between processes. Every program that shares a store must share this folder, so it does not depend on the application's id.
    public var locks: String

    /// Names the folders; absolute paths.
    public init(preferences: String, data: String, state: String, locks: String) {
        self.preferences = preferences
        self.data = data
        self.state = state
        self.locks = locks
    }

    /// Everything under one folder.
    public init(root: URL) {
        let root = root.standardizedFileURL.path
        self.init(preferences: root + "/preferences", data: root + "/data", state: root + "/state", locks: root + "/locks")
    }

    /// The folders of the XDG base directory specification: `XDG_CONFIG_HOME` for property lists, `<XDG_DATA_HOME>/<id>/LocalData`,
    /// `<XDG_STATE_HOME>/<id>/LocalData`, and `<XDG_STATE_HOME>/LocalData/locks`.
    /// - Throws: ``StorageError`` with `unavailable` when neither the variables nor `HOME` are set.
    static func xdg(applicationID: String, host: HostFacts) throws -> StorageDirectories {
        func base(_ variable: String, _ fallback: String) throws -> String {
            // The specification: relative paths are invalid and must be ignored.
            if let value = host.environment[variable], value.hasPrefix("/") { return value }
            guard let home = host.homeDirectory, home.hasPrefix("/") else {
                throw StorageError(
                    StorageError.unavailable, key: variable,
                    "No home directory is known. Set \(variable) or HOME, or give the configuration its directories. For a service of systemd, StateDirectory= in its unit is enough. Nothing was read or written."
                )
            }
            return home + "/" + fallback
        }
        return StorageDirectories(
            preferences: try base("XDG_CONFIG_HOME", ".config"),
            data: try base("XDG_DATA_HOME", ".local/share") + "/\(applicationID)/LocalData",
            state: try base("XDG_STATE_HOME", ".local/state") + "/\(applicationID)/LocalData",
            locks: try base("XDG_STATE_HOME", ".local/state") + "/LocalData/locks")
    }

    /// The folders that systemd gives a service: `CONFIGURATION_DIRECTORY` and `STATE_DIRECTORY`; where one is missing, the XDG folders.
    /// - Throws: ``StorageError`` with `unavailable` when neither these variables nor `HOME` are set.
    static func service(applicationID: String, host: HostFacts) throws -> StorageDirectories {
        // systemd separates several folders by colons; the first is the service's own.
        func first(_ variable: String) -> String? {
            host.environment[variable]?.split(separator: ":").first.map(String.init).flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let state = first("STATE_DIRECTORY")
        let preferences = first("CONFIGURATION_DIRECTORY") ?? state.map { $0 + "/preferences" }
        if let state, let preferences {
            return StorageDirectories(
                preferences: preferences, data: state + "/LocalData/data", state: state + "/LocalData/state",
                locks: state + "/LocalData/locks")
        }
        return try xdg(applicationID: applicationID, host: host)
    }
}
