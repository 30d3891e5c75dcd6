#if Macros
    import LocalDataModels

    /// A program whose own types have the names of the marks says which it means.
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
