import BackendContract
import BackendRuntime
import Foundation
import LocalData

/// Finds the names of the collections in a store. A property list and a keyring contain them in readable form. An encrypted database does
/// not: only the catalogs of a program contain them.
struct CollectionNames {
    let router: StorageRouter
    /// The catalogs of the program; empty in the tool.
    let catalogs: [any StorageKeyCatalog]

    private var configuration: StorageConfiguration { router.configuration }

    /// Returns the names of the collections in a store, sorted.
    /// - Returns: The names, and whether these are all names.
    func find(in domain: StorageDomain) async throws -> (names: [String], areAll: Bool) {
        let finder = StoreFinder(configuration)
        let domain = finder.scoped(domain)
        let declared = catalogs.flatMap { $0.allKeys }.filter { $0.collection != nil && finder.scoped($0.domain) == domain }.map(\.name)
        var namespaces: [String]?
        if domain.kind == .userDefaults, finder.areFiles(.userDefaults) {
            namespaces = try inPropertyList(domain)
        } else if domain.kind == .keychain, finder.hasKeyring, let keyring = try KeyringItems(domain, configuration) {
            namespaces = try await keyring.items().map(\.namespace)
            await keyring.close()
        }
        let stored = (namespaces ?? []).compactMap(StorageNamespace.collection(ofNamespace:))
        return (Swift.Set(declared + stored).sorted(), namespaces != nil)
    }

    /// Returns the namespaces in the file of a property list. `Docs/Formats.md` describes its reserved entry.
    private func inPropertyList(_ domain: StorageDomain) throws -> [String] {
        guard let folder = try configuration.directories?.preferences,
            let data = FileManager.default.contents(atPath: "\(folder)/\(domain.scope ?? "").plist"),
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
            let reserved = list["LocalData.metadata"] as? [String: Any], let namespaces = reserved["namespaces"] as? [String: Any]
        else { return [] }
        return Array(namespaces.keys)
    }
}

extension StorageNamespace {
    private static let prefix = "collection:"

    /// Returns the namespace of the records of a collection. `Docs/Formats.md` describes its name.
    static func records(of collection: String) -> StorageNamespace { StorageNamespace(prefix + collection) }

    /// Returns the name of the collection whose records a namespace contains; nil for another namespace.
    static func collection(ofNamespace name: String) -> String? {
        name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : nil
    }
}
