#if Macros
    import SwiftParser
    import SwiftSyntax

    /// A property of a model.
    struct StoredProperty {
        /// The name, without backticks.
        let name: String
        /// The name as written in the declaration.
        let spelling: String
        var storedName: String
        var originalName: String?
        var isTransient = false
        /// Whether records get an attribute with the value of the property.
        var isIndexed = false
        var type: TypeSyntax?
        var defaultValue: ExprSyntax?

        init(name: String, spelling: String) {
            self.name = name
            self.spelling = spelling
            storedName = name
        }

        /// The arguments of the `AttributeDescription` that the macro generates for this property.
        var description: String {
            guard let type else { return storedName.literal }
            var arguments = [storedName.literal]
            if let known = type.attributeType {
                arguments.append(known)
                if type.isOptional { arguments.append("isOptional: true") }
                if let value = defaultValue, value.isConstant, !value.is(NilLiteralExprSyntax.self) {
                    arguments.append("default: \(value.trimmedDescription)")
                }
            } else {
                arguments.append("of: \(type.metatype).self")
            }
            if let originalName { arguments.append("originalName: \(originalName.literal)") }
            return arguments.joined(separator: ", ")
        }
    }

    extension StoredProperty {
        /// The element of the list of descriptions that the macro generates for this property.
        /// - Parameter model: The model, spelled for an extension of it.
        func element(of model: some TypeSyntaxProtocol) -> String {
            ".init(\(description))" + (isIndexed ? ".indexed(\\\(model.trimmedDescription).\(spelling))" : "")
        }
    }

    extension TypeSyntax {
        /// Whether the type is written as an optional.
        var isOptional: Bool { wrapped != nil }

        /// The wrapped type of an optional.
        private var wrapped: TypeSyntax? {
            if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType }
            if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType }
            return lastName == "Optional" ? arguments.first : nil
        }

        /// The type as text that is valid in an expression. `T!` becomes `T?`, because `T!` is allowed in declarations
        /// only.
        var metatype: String {
            if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return "\(optional.wrappedType.trimmed)?" }
            return self.is(SomeOrAnyTypeSyntax.self) ? "(\(trimmedDescription))" : trimmedDescription
        }

        /// The source text of the `AttributeType` for a type that the macro recognizes; nil for the program's own
        /// types.
        var attributeType: String? {
            if let wrapped { return wrapped.attributeType }
            if let list = self.as(ArrayTypeSyntax.self) { return list.element.attributeType.map { ".array(\($0))" } }
            if let dictionary = self.as(DictionaryTypeSyntax.self) {
                return dictionary.key.lastName == "String" ? dictionary.value.attributeType.map { ".dictionary(\($0))" } : nil
            }
            switch lastName {
            case "Array" where arguments.count == 1, "Set" where arguments.count == 1:
                return arguments[0].attributeType.map { ".array(\($0))" }
            case "Dictionary" where arguments.count == 2 && arguments[0].lastName == "String":
                return arguments[1].attributeType.map { ".dictionary(\($0))" }
            case "String": return ".string"
            case "Bool": return ".boolean"
            case "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64": return ".integer"
            case "Double", "Float": return ".double"
            case "Decimal": return ".decimal"
            case "Date": return ".date"
            case "Data": return ".data"
            case "UUID": return ".uuid"
            default: return nil
            }
        }

        /// The name of the type without its module. The type must be written without a module, or with Swift,
        /// Foundation, LocalData or LocalDataModels. Empty for any other type.
        var lastName: String {
            if let identifier = self.as(IdentifierTypeSyntax.self) { return identifier.name.text }
            if let member = self.as(MemberTypeSyntax.self),
                ["Swift", "Foundation", "LocalData", "LocalDataModels"].contains(member.baseType.trimmedDescription)
            {
                return member.name.text
            }
            return ""
        }

        private var arguments: [TypeSyntax] {
            let clause = self.as(IdentifierTypeSyntax.self)?.genericArgumentClause ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
            return clause?.arguments.compactMap { TypeSyntax($0.argument) } ?? []
        }
    }

    extension ExprSyntax {
        /// Whether the expression consists of literals only. The generated code can then use it unchanged as a
        /// `DocumentValue`.
        var isConstant: Bool {
            if self.is(IntegerLiteralExprSyntax.self) || self.is(FloatLiteralExprSyntax.self) || self.is(BooleanLiteralExprSyntax.self)
                || self.is(NilLiteralExprSyntax.self)
            {
                return true
            }
            if let text = self.as(StringLiteralExprSyntax.self) { return text.representedLiteralValue != nil }
            if let negative = self.as(PrefixOperatorExprSyntax.self) {
                return negative.operator.text == "-" && ExprSyntax(negative.expression).isConstant
            }
            if let list = self.as(ArrayExprSyntax.self) { return list.elements.allSatisfy { $0.expression.isConstant } }
            if let dictionary = self.as(DictionaryExprSyntax.self) {
                guard case .elements(let elements) = dictionary.content else { return true }
                return elements.allSatisfy { $0.key.isConstant && $0.value.isConstant }
            }
            return false
        }
    }

    extension VariableDeclSyntax {
        /// The attributes `@Attribute` and `@Transient`, which `@StorageModel` reads.
        var marks: [AttributeSyntax] {
            attributes.compactMap { $0.as(AttributeSyntax.self) }.filter { ["Attribute", "Transient"].contains($0.attributeName.lastName) }
        }

        /// Whether the modifiers allow stored instance properties.
        var isStoredProperty: Bool { !modifiers.contains { ["static", "class", "lazy"].contains($0.name.text) } }
    }

    extension PatternBindingSyntax {
        /// Whether the property has a getter. Observers do not make a property computed.
        var isComputed: Bool {
            switch accessorBlock?.accessors {
            case nil: false
            case .getter: true
            case .accessors(let accessors): !accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
            }
        }
    }

    extension IfConfigDeclSyntax {
        /// Whether one of the branches of an `#if` declares a stored property.
        var declaresProperties: Bool {
            clauses.contains { clause in
                guard case .decls(let members) = clause.elements else { return false }
                return members.contains { member in
                    guard let variable = member.decl.as(VariableDeclSyntax.self) else { return false }
                    return variable.isStoredProperty && variable.bindings.contains { !$0.isComputed }
                }
            }
        }
    }

    extension TokenSyntax {
        /// The name without backticks.
        var identifierText: String { identifier?.name ?? text }
    }

    extension String {
        /// The text as a string literal.
        var literal: String {
            var literal = "\""
            for scalar in unicodeScalars {
                switch scalar {
                case "\"", "\\": literal += "\\\(scalar)"
                case _ where scalar.value < 0x20 || scalar.value == 0x7F: literal += "\\u{\(String(scalar.value, radix: 16))}"
                default: literal.unicodeScalars.append(scalar)
                }
            }
            return literal + "\""
        }
    }
#endif
