#if Macros
    import SwiftCompilerPlugin
    import SwiftSyntaxMacros

    /// The macros of `LocalDataModels`, for the compiler.
    @main struct Plugin: CompilerPlugin {
        let providingMacros: [any Macro.Type] = [StorageModelMacro.self, PropertyMarkMacro.self]
    }
#else
    /// Without the trait `Macros` there is nothing to provide; a program needs a beginning all the same.
    @main enum Plugin {
        static func main() {}
    }
#endif
