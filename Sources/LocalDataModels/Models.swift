#if Macros
    @_exported public import LocalData

    /// Describes what a struct or class stores, so that nobody has to write it down a second time: makes it a `StorageModel`.
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
    /// Every stored property needs its type in words. A default that is a literal is what an older value gets that lacks the property. `CodingKeys` are made when a
    /// property is transient or is stored under another name, and not otherwise. A class says itself that it is `Codable`, and what makes it `Sendable`.
    @attached(extension, conformances: StorageModel, names: named(attributes))
    @attached(member, names: named(CodingKeys))
    public macro StorageModel() = #externalMacro(module: "LocalDataMacros", type: "StorageModelMacro")

    /// Says under which name a property of a ``StorageModel()`` is stored.
    /// - Parameters:
    ///   - name: The name under which it is stored, where that is not its own.
    ///   - originalName: The name under which older values have it. Such a value is found once; what is stored afterwards has the new name.
    @attached(peer)
    public macro Attribute(name: String? = nil, originalName: String? = nil) =
        #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")

    /// Keeps a property of a ``StorageModel()`` out of what is stored. It has a default, or is optional: that is what every value that was read has.
    @attached(peer)
    public macro Transient() = #externalMacro(module: "LocalDataMacros", type: "PropertyMarkMacro")
#endif
