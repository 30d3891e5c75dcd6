public import LocalData

extension StorageDomain.Kind {
    /// Values that another program or system has stored, and that LocalData only reads.
    ///
    /// ```swift
    /// let domain = StorageDomain.imported("mac")
    /// if domain.kind == .imported { print("LocalData never changes these values.") }
    /// ```
    public static let imported = StorageDomain.Kind("import")
}

extension StorageDomain {
    /// The values of an import, as legacy locations for `moved(from:)`.
    ///
    /// ```swift
    /// let old = StorageKey<String>(name: "windowTitle", domain: .imported("mac"))
    /// print(try await storage.value(for: old) ?? "not in the file, or already moved")
    /// do { try await storage.set("Notes", for: old) } catch StorageError.unsupported { print("An import is only read.") }
    /// ```
    ///
    /// The source of the values is set with `StorageConfiguration.useImport(_:named:)`. A key of this domain can be
    /// read and removed. A `set` throws `unsupported`.
    /// - Parameter name: The name of the import.
    public static func imported(_ name: String) -> StorageDomain { StorageDomain(kind: .imported, scope: name) }
}

extension StorageConfiguration {
    /// Makes the values of another program or system available in the domain `.imported(_:)`.
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
    /// A migration reads a value, stores it durably at the destination, and reads it back. Then LocalData records that the value
    /// was imported. The source keeps its copy. The recorded name counts as absent from then on, so a value that was removed
    /// does not return, even if the source changes. To import a newer copy of the source, give it another name.
    ///
    /// The records are in the file `imports.plist` in the data folder. They contain names, and no values. A configuration in
    /// memory imports nothing.
    ///
    /// Call this before the configuration is given to a router.
    /// - Parameters:
    ///   - source: The source.
    ///   - name: The name of the import. A second call with the same name replaces the source.
    public mutating func useImport(_ source: ImportSource, named name: String) {
        let known = providers.lazy.compactMap { $0 as? ImportProvider }.first
        let provider = ImportProvider(sources: (known?.sources ?? [:]).merging([name: source]) { $1 })
        providers.removeAll { $0 is ImportProvider }
        providers.append(provider)
    }
}
