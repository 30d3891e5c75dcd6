#if Macros
    import LocalDataModels

    /// A program with types that have the names of the macros. It selects the macros by their module.
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
