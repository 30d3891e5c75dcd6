@_exported public import LocalData

#if Macros
    /// Makes a struct or class conform to `StorageModel` by generating the description of its stored properties.
    ///
    /// Use it if a migration plan or a snapshot of shapes must know the stored properties, or if a property is renamed
    /// or not stored.
    ///
    /// ```swift
    /// @StorageModel struct Card {
    ///     var title: String
    ///     var stars: Int = 0  // 0 for an older value without it
    ///     @Attribute(originalName: "colour") var color: String?
    ///     @Transient var isSelected = false  // never stored
    /// }
    /// ```
    ///
    /// Every stored property must declare its type. If an older value lacks a property, the property gets its default
    /// value, provided that the default is a literal.
    ///
    /// The macro generates `CodingKeys` only if a property is transient or has another stored name. A class must
    /// declare `Codable` and `Sendable` itself.
    @attached(extension, conformances: StorageModel, names: named(attributes))
    @attached(member, names: named(CodingKeys))
    public macro StorageModel() = #externalMacro(module: "LocalDataMacros", type: "StorageModelMacro")

    /// Sets the stored name of a property of a ``StorageModel()``, or the name in older values.
    ///
    /// ```swift
    /// @StorageModel struct Place {
    ///     @Attribute(name: "place_name") var name: String  // the stored name
    ///     @Attribute(originalName: "lat") var latitude: Double  // read from "lat", and then stored as "latitude"
    /// }
    /// ```
    /// - Parameters:
    ///   - name: The stored name; nil uses the name of the property.
    ///   - originalName: The name in older values. The property is read from this name and then stored under the current one.
    @attached(peer)
    public macro Attribute(name: String? = nil, originalName: String? = nil) =
        #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")

    /// Sets the names of a property of a ``StorageModel()``, and whether queries find records by the property.
    /// - Parameters:
    ///   - name: The stored name; nil uses the name of the property.
    ///   - originalName: The name in older values. The property is read from this name and then stored under the current one.
    ///   - indexed: Whether each record of a collection gets an attribute with the value of the property, under its stored
    ///     name. The type of the property is a string, number, Boolean, UUID or date, an enumeration with such raw values,
    ///     or an optional of these. Values of other types get no attribute. See `attribute(_:_:)` of `LocalDataQueries`,
    ///     which also says what the attribute reveals.
    @attached(peer)
    public macro Attribute(name: String? = nil, originalName: String? = nil, indexed: Bool) =
        #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")

    /// Excludes a property of a ``StorageModel()`` from storage.
    ///
    /// The property must have a default or be optional. It has that default, or nil, in every value that is read.
    ///
    /// ```swift
    /// @StorageModel struct Window {
    ///     var width: Int
    ///     @Transient var isOpen = true  // true in every value that is read
    /// }
    /// ```
    @attached(peer)
    public macro Transient() = #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")
#endif
