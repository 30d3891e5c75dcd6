#if Macros
    import SwiftDiagnostics
    import SwiftParser
    import SwiftSyntax

    /// A struct or class declaration, parsed for `@StorageModel`.
    struct ModelDeclaration {
        private(set) var properties: [StoredProperty] = []
        private(set) var diagnostics: [Diagnostic] = []
        /// The access modifier of generated code, with a space after it.
        private(set) var access = ""
        private var writtenKeys: [String: String]?

        /// The stored properties, in the order of the declaration.
        var stored: [StoredProperty] { properties.filter { !$0.isTransient } }

        /// Whether the macro must write `CodingKeys`, because the synthesized ones would be wrong.
        var needsCodingKeys: Bool { writtenKeys == nil && properties.contains { $0.isTransient || $0.storedName != $0.name } }

        init(_ declaration: some DeclGroupSyntax, attribute: AttributeSyntax) {
            let named = declaration.asProtocol((any NamedDeclSyntax).self)
            if declaration.is(ClassDeclSyntax.self) {
                let inherited = declaration.inheritanceClause?.inheritedTypes.map { $0.type.lastName } ?? []
                if !inherited.contains(where: ["Codable", "Decodable", "StorageModel"].contains) {
                    report(.classWithoutCodable(named?.name.text ?? "…"), at: attribute)
                }
            } else if !declaration.is(StructDeclSyntax.self) {
                report(.kind, at: attribute)
                return
            }
            if let modifier = declaration.modifiers.first(where: { ["public", "open", "package"].contains($0.name.text) }) {
                access = modifier.name.text == "package" ? "package " : "public "
            }
            for member in declaration.memberBlock.members {
                if let keys = member.decl.as(EnumDeclSyntax.self), keys.name.text == "CodingKeys" { read(keys) }
            }
            for member in declaration.memberBlock.members {
                if let variable = member.decl.as(VariableDeclSyntax.self) { read(variable) }
                if let conditional = member.decl.as(IfConfigDeclSyntax.self), conditional.declaresProperties {
                    report(.conditional, at: conditional)
                }
            }
        }

        private mutating func report(_ problem: ModelProblem, at node: some SyntaxProtocol) {
            diagnostics.append(Diagnostic(node: node, message: problem))
        }

        /// Reads `CodingKeys` that the program wrote. A property that is not among them is not stored.
        private mutating func read(_ keys: EnumDeclSyntax) {
            var names: [String: String] = [:]
            for member in keys.memberBlock.members {
                for element in member.decl.as(EnumCaseDeclSyntax.self)?.elements ?? [] {
                    let name = element.name.identifierText
                    names[name] = element.rawValue?.value.as(StringLiteralExprSyntax.self)?.representedLiteralValue ?? name
                }
            }
            writtenKeys = names
        }

        private mutating func read(_ variable: VariableDeclSyntax) {
            let marks = variable.marks
            let isStored = variable.isStoredProperty
            for (index, binding) in variable.bindings.enumerated() {
                guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
                    if isStored { report(.pattern, at: binding) }
                    continue
                }
                guard isStored, !binding.isComputed else {
                    if !marks.isEmpty { report(.markOnComputed(name.identifierText), at: variable) }
                    continue
                }
                // In `var a, b: Int`, only the last binding has the type.
                let type = variable.bindings.dropFirst(index).first { $0.typeAnnotation != nil || $0.initializer != nil }?.typeAnnotation?
                    .type
                read(name, type, binding, marks, isConstant: variable.bindingSpecifier.tokenKind == .keyword(.let))
            }
        }

        private mutating func read(
            _ name: TokenSyntax, _ type: TypeSyntax?, _ binding: PatternBindingSyntax, _ marks: [AttributeSyntax], isConstant: Bool
        ) {
            var property = StoredProperty(name: name.identifierText, spelling: name.trimmedDescription)
            property.defaultValue = binding.initializer?.value
            property.isTransient = marks.contains { $0.attributeName.lastName == "Transient" }
            if let writtenKeys, !property.isTransient {
                property.isTransient = writtenKeys[property.name] == nil
                property.storedName = writtenKeys[property.name] ?? property.name
            } else if writtenKeys?[property.name] != nil {
                report(.keysTwice, at: binding)
            }
            for mark in marks where mark.attributeName.lastName == "Attribute" {
                guard case .argumentList(let arguments) = mark.arguments else { continue }
                for argument in arguments where !argument.expression.is(NilLiteralExprSyntax.self) {
                    if argument.label?.text == "indexed" {
                        guard let literal = argument.expression.as(BooleanLiteralExprSyntax.self) else {
                            report(.indexedIsNoLiteral, at: argument)
                            continue
                        }
                        property.isIndexed = literal.literal.tokenKind == .keyword(.true)
                        continue
                    }
                    guard let text = argument.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
                        report(.nameIsNoLiteral, at: argument)
                        continue
                    }
                    if argument.label?.text == "originalName" {
                        property.originalName = text
                    } else if writtenKeys != nil {
                        report(.keysTwice, at: argument)
                    } else {
                        property.storedName = text
                    }
                }
            }
            if property.isTransient {
                if property.isIndexed { report(.transientIndexed(property.name), at: binding) }
                if binding.initializer == nil, type?.isOptional != true || isConstant {
                    report(.transientWithoutValue(property.name), at: binding)
                }
            } else if isConstant, binding.initializer != nil {
                report(.constantWithValue(property.name), at: binding)
            } else if let type {
                property.type = type
            } else {
                report(.missingType(property.name), at: binding)
            }
            properties.append(property)
        }
    }
#endif
