import BackendContract
public import Foundation
package import LocalData

/// Values that another program or system has stored. LocalData reads them, and never changes them.
///
/// Use it if your program replaces another one, or if a user brings files from a Mac.
///
/// ```swift
/// var configuration = StorageConfiguration.xdg(applicationID: "com.example.editor", version: "2.0")
/// configuration.useImport(.propertyList(at: file), named: "mac")
/// let storage = StorageRouter(configuration: configuration)
/// let title = StorageKey<String>(name: "title", domain: .userDefaults)
///     .moved(from: StorageKey(name: "windowTitle", domain: .imported("mac")))
/// do { print(try await storage.get(title)) } catch StorageError.corrupted {
///     print("The file is damaged. It is unchanged, and nothing was stored.")
/// }
/// ```
///
/// Give a source to a configuration with `StorageConfiguration.useImport(_:named:)`. Its values are then legacy
/// locations for `moved(from:)`.
public struct ImportSource: Sendable {
    enum Form: Sendable {
        case propertyList(String)
        case keyedArchive(String)
        case keyringItems([String: [String: String]])
    }

    let form: Form

    /// The entries of a property list, such as the file of `UserDefaults` that was copied from a Mac. The names of the entries
    /// are the names of the values.
    ///
    /// ```swift
    /// let file = URL(filePath: "/home/kari/com.example.editor.plist")  // copied from ~/Library/Preferences on the Mac
    /// var configuration = StorageConfiguration.xdg(applicationID: "com.example.editor")
    /// configuration.useImport(.propertyList(at: file), named: "mac")  // a damaged file is an error of each read, not of this call
    /// ```
    ///
    /// The file is XML or binary. A file that does not exist has no values. A file that is damaged, or larger than 64 MiB, is an
    /// error of each read.
    /// - Parameter file: The file.
    public static func propertyList(at file: URL) -> ImportSource { ImportSource(form: .propertyList(file.standardizedFileURL.path)) }

    /// The objects of a file that `NSKeyedArchiver` wrote: see ``KeyedArchive``. An archive of one object has the name `root`.
    ///
    /// ```swift
    /// let file = URL(filePath: "/home/kari/profile.archive")
    /// var configuration = StorageConfiguration.xdg(applicationID: "com.example.editor")
    /// configuration.useImport(.keyedArchive(at: file), named: "archive")
    /// let profile = StorageKey<Profile>(name: "profile", domain: .userDefaults)
    ///     .moved(from: StorageKey(name: "root", domain: .imported("archive")))
    /// ```
    ///
    /// A null is left out of an object, and refused in a list. ``KeyedArchive`` keeps both. For files that do not exist, are
    /// damaged or too large, see ``propertyList(at:)``.
    /// - Parameter file: The file.
    public static func keyedArchive(at file: URL) -> ImportSource { ImportSource(form: .keyedArchive(file.standardizedFileURL.path)) }

    /// Items of the session's keyring that any program has stored, such as `secret-tool` or Python's `keyring`.
    ///
    /// ```swift
    /// var configuration = StorageConfiguration.xdg(applicationID: "com.example.mail")
    /// configuration.useImport(.keyringItems(["password": ["service": "mail", "username": "kari"]]), named: "python")
    /// let storage = StorageRouter(configuration: configuration)
    /// let password = StorageKey<String>(name: "password", domain: .keychain)
    ///     .moved(from: StorageKey(name: "password", domain: .imported("python")))
    /// do { print(try await storage.get(password).count) } catch StorageError.ambiguous {
    ///     print("Two items have these attributes. Name one more attribute.")
    /// }
    /// ```
    ///
    /// An item is found if it has the given attributes, whatever other attributes it has. If two items are found for one name,
    /// reading it throws `ambiguous`. A locked keyring is `locked`.
    /// - Parameter items: The attributes of each item, by the name of its value.
    public static func keyringItems(_ items: [String: [String: String]]) -> ImportSource { ImportSource(form: .keyringItems(items)) }
}

extension ImportSource {
    /// Returns the reader of the source, which opens nothing yet.
    func reader(_ configuration: StorageConfiguration) -> any ImportReader {
        switch form {
        case .propertyList(let path): FileImport(path, .propertyList, configuration)
        case .keyedArchive(let path): FileImport(path, .keyedArchive, configuration)
        case .keyringItems(let items): KeyringImport(items, configuration)
        }
    }

    /// Reads values once, outside of a router.
    /// - Parameter names: The names of the values; nil for all values.
    /// - Returns: The values that exist, by their names.
    /// - Throws: `StorageError` if the source or one of the values cannot be read.
    package func values(_ names: [String]?, _ configuration: StorageConfiguration) async throws -> [String: DocumentValue] {
        let reader = reader(configuration)
        var values: [String: DocumentValue] = [:]
        let wanted = if let names { names } else { try await translatingErrors(key: reader.location, reader.names) }
        let probes = try await translatingErrors(key: reader.location) { () throws(BackendError) in try await reader.read(wanted, .fresh) }
        for (name, probe) in zip(wanted, probes) {
            switch probe {
            case .value(let record):
                guard case .native(let value) = record.payload else { continue }
                values[name] = DocumentValue(value)
            case .absent, .tombstone: continue
            case .locked:
                throw StorageError(.locked, key: name, "\(reader.location) is locked. Unlock it and try again; nothing was changed.")
            case .unavailable(let error): throw StorageError.from(error, key: name)
            case .corrupt(let corruption):
                throw StorageError(.corrupted, key: name, "\(reader.location) is damaged: \(corruption.reason). Nothing was changed.")
            }
        }
        return values
    }
}
