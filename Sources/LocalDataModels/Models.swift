@_exported public import LocalData

#if Macros
    /// Makes a struct or class a `StorageModel`: writes the description of its stored properties.
    ///
    /// ```swift
    /// @StorageModel struct Note {
    ///     var title: String
    ///     var stars: Int = 0
    ///     @Attribute(originalName: "colour") var color: Color?
    ///     @Transient var isSelected = false
    /// }
    /// ```
    ///
    /// Every stored property must state its type. If an older value lacks a property, it gets the default, if that is a literal. The macro writes `CodingKeys` only if a
    /// property is transient or is stored under another name. A class must declare `Codable` and `Sendable` itself.
    @attached(extension, conformances: StorageModel, names: named(attributes))
    @attached(member, names: named(CodingKeys))
    public macro StorageModel() = #externalMacro(module: "LocalDataMacros", type: "StorageModelMacro")

    /// Sets the stored name of a property of a ``StorageModel()``.
    /// - Parameters:
    ///   - name: The stored name; nil for the property's own name.
    ///   - originalName: The name of the property in older values. The value is read under this name, and then stored under the new one.
    @attached(peer)
    public macro Attribute(name: String? = nil, originalName: String? = nil) =
        #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")

    /// Excludes a property of a ``StorageModel()`` from storage. The property must have a default or be optional; every value that is read gets that default, or nil.
    @attached(peer)
    public macro Transient() = #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")
#endif
