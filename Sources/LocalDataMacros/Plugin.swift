#if Macros
    import SwiftCompilerPlugin
    import SwiftSyntaxMacros

    /// The macros of `LocalDataModels`, for the compiler.
    @main struct Plugin: CompilerPlugin {
        let providingMacros: [any Macro.Type] = [StorageModelMacro.self, PropertyMarkMacro.self]
    }
#else
    /// An empty program: without the trait `Macros`, there is no macro to provide, but an executable needs an entry point.
    @main enum Plugin {
        static func main() {}
    }
#endif
