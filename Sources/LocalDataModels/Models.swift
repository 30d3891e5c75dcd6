@_exported public import LocalData

#if Macros
    /// Makes a struct or class conform to `StorageModel` by generating the description of its stored properties.
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
    /// Every stored property must declare its type. If an older value lacks a property, the property gets its default value,
    /// provided that the default is a literal.
    ///
    /// The macro generates `CodingKeys` only if a property is transient or has another stored name.
    /// A class must declare `Codable` and `Sendable` itself.
    @attached(extension, conformances: StorageModel, names: named(attributes))
    @attached(member, names: named(CodingKeys))
    public macro StorageModel() = #externalMacro(module: "LocalDataMacros", type: "StorageModelMacro")

    /// Sets the stored name of a property of a ``StorageModel()``, or the name in older values.
    /// - Parameters:
    ///   - name: The stored name; nil uses the name of the property.
    ///   - originalName: The name in older values. The property is read from this name and then stored under the current one.
    @attached(peer)
    public macro Attribute(name: String? = nil, originalName: String? = nil) =
        #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")

    /// Excludes a property of a ``StorageModel()`` from storage.
    ///
    /// The property must have a default or be optional. It has that default, or nil, in every value that is read.
    @attached(peer)
    public macro Transient() = #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")
#endif
