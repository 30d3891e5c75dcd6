#if Macros
    import LocalDataModels

    /// A program that declares a type with the name of a macro, `Attribute`. It can still use the macro by writing the
    /// module name first: `@LocalDataModels.Attribute`.
    enum Elsewhere {
        @propertyWrapper struct Attribute<Value> {
            var wrappedValue: Value
        }

        @StorageModel struct Named {
            @LocalDataModels.Attribute(originalName: "old") var name: String
            @LocalDataModels.Transient var isOpen = false
        }
    }
#endif
