#if Macros
    import SwiftDiagnostics
    package import SwiftSyntax
    import SwiftSyntaxBuilder
    package import SwiftSyntaxMacros

    /// `@StorageModel`: writes the description of the stored properties, and `CodingKeys` if the synthesized ones would be wrong.
    package enum StorageModelMacro {}

    extension StorageModelMacro: ExtensionMacro {
        package static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingExtensionsOf type: some TypeSyntaxProtocol,
            conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            let model = ModelDeclaration(declaration, attribute: node)
            for diagnostic in model.diagnostics { context.diagnose(diagnostic) }
            guard model.diagnostics.isEmpty else { return [] }
            let conformance = protocols.isEmpty ? "" : ": LocalData.StorageModel"
            let entries = model.stored.map { "\n            \($0.element(of: type))," }.joined()
            let list = entries.isEmpty ? "[]" : "[\(entries)\n        ]"
            return [
                try ExtensionDeclSyntax(
                    """
                    extension \(type.trimmed)\(raw: conformance) {
                        \(raw: model.access)static var attributes: [LocalData.AttributeDescription] {
                            \(raw: list)
                        }
                    }
                    """)
            ]
        }
    }

    extension StorageModelMacro: MemberMacro {
        package static func expansion(
            of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            let model = ModelDeclaration(declaration, attribute: node)
            guard model.diagnostics.isEmpty, model.needsCodingKeys else { return [] }
            let cases = model.stored.map { property in
                property.storedName == property.name
                    ? "\n    case \(property.spelling)" : "\n    case \(property.spelling) = \(property.storedName.literal)"
            }
            return [
                cases.isEmpty
                    ? "private enum CodingKeys: CodingKey {}"
                    : "private enum CodingKeys: String, CodingKey {\(raw: cases.joined())\n}"
            ]
        }
    }

    /// `@Attribute` and `@Transient`: attributes that `@StorageModel` reads. On their own, they generate nothing.
    package enum PropertyMarkMacro: PeerMacro {
        package static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            if !declaration.is(VariableDeclSyntax.self) {
                context.diagnose(Diagnostic(node: node, message: ModelProblem.mark(node.attributeName.trimmedDescription)))
            }
            return []
        }
    }
#endif
