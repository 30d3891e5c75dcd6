public import LocalData

extension SchemaPlan {
    /// Computes the new value of an attribute from a record.
    public typealias Computation = @Sendable (_ old: StoredDocument, _ context: EvolutionContext) throws -> DocumentValue?

    /// One change of an entity's attributes, created by ``AddAttribute``, ``UpdateAttribute`` or ``RemoveAttribute``.
    public struct AttributeChange: Sendable {
        enum Verb: Sendable {
            case add(AttributeType, isOptional: Bool, default: DocumentValue?, Computation?)
            case update(Update)
            case remove
        }

        struct Update: Sendable {
            var newName: String?
            var type: AttributeType?
            var isOptional: Bool?
            var defaultValue: DocumentValue?
            var transform: (@Sendable (DocumentValue?, EvolutionContext) throws -> DocumentValue?)?
        }

        let name: String
        let verb: Verb

        /// The statement and the attribute as text, for messages.
        var spelling: String {
            switch verb {
            case .add: "AddAttribute \(name)"
            case .update: "UpdateAttribute \(name)"
            case .remove: "RemoveAttribute \(name)"
            }
        }

        /// A text that identifies the change by its statement, its names and its type, without defaults and closures.
        /// It is part of ``SchemaPlan/EntityChange/identity``. After a crash, that text shows whether the plan still
        /// begins with the changes that are already done.
        var identity: String {
            switch verb {
            case .add(let type, _, _, _): "\(spelling) (\(type))"
            case .update(let update):
                spelling + (update.newName.map { " to \($0)" } ?? "") + (update.type.map { " (\($0))" } ?? "")
            case .remove: spelling
            }
        }
    }

    /// Adds an attribute to an entity.
    ///
    /// ```swift
    /// let update = SchemaPlan.UpdateEntity("notes") {
    ///     SchemaPlan.AddAttribute("color", attributeType: .string, optional: true)
    ///     SchemaPlan.AddAttribute("length", attributeType: .integer) { old in
    ///         .integer(Int64(old["text"]?.string?.count ?? 0))  // computed from the record before the step
    ///     }
    /// }
    /// ```
    public struct AddAttribute: Sendable {
        let change: AttributeChange

        /// Adds an attribute with an optional default.
        /// - Parameters:
        ///   - name: The stored name of the attribute.
        ///   - attributeType: The type of the attribute.
        ///   - optional: Whether the attribute may be missing or null.
        ///   - defaultValue: The value for existing records. In an ``UpdateEntity``, a required attribute needs a default.
        public init(_ name: String, attributeType: AttributeType, optional: Bool = false, default defaultValue: DocumentValue? = nil) {
            change = AttributeChange(name: name, verb: .add(attributeType, isOptional: optional, default: defaultValue, nil))
        }

        /// Adds an attribute. Its value is computed from the content that the record had before the ``UpdateEntity``.
        ///
        /// ```swift
        /// let identified = SchemaPlan.UpdateEntity("notes") {
        ///     SchemaPlan.AddAttribute("token", attributeType: .uuid) { old, context in
        ///         .string(context.identity.uuidString)  // the same in every run
        ///     }
        /// }
        /// ```
        /// - Parameters:
        ///   - name: The stored name of the attribute.
        ///   - attributeType: The type of the attribute. The computed value is converted to it.
        ///   - optional: Whether the attribute may be missing or null.
        ///   - value: Computes the value. It may run again on the same record, so its result must be reproducible; see
        ///     `EvolutionContext.identity`.
        public init(
            _ name: String, attributeType: AttributeType, optional: Bool = false,
            _ value: @escaping @Sendable (_ old: StoredDocument, _ context: EvolutionContext) throws -> DocumentValue?
        ) {
            change = AttributeChange(name: name, verb: .add(attributeType, isOptional: optional, default: nil, value))
        }

        /// Adds an attribute. Its value is computed from the content that the record had before the ``UpdateEntity``,
        /// without the context.
        ///
        /// ```swift
        /// let update = SchemaPlan.UpdateEntity("notes") {
        ///     SchemaPlan.AddAttribute("color", attributeType: .string, optional: true)
        ///     SchemaPlan.AddAttribute("length", attributeType: .integer) { old in
        ///         .integer(Int64(old["text"]?.string?.count ?? 0))  // computed from the record before the step
        ///     }
        /// }
        /// ```
        public init(
            _ name: String, attributeType: AttributeType, optional: Bool = false,
            _ value: @escaping @Sendable (_ old: StoredDocument) throws -> DocumentValue?
        ) {
            self.init(name, attributeType: attributeType, optional: optional) { old, _ in try value(old) }
        }
    }

    /// Changes the name, type, optionality or value of an attribute.
    ///
    /// ```swift
    /// let converted = SchemaPlan.UpdateEntity("notes") {
    ///     SchemaPlan.UpdateAttribute("stars", attributeType: .integer)  // the step fails if a text is no number
    ///     SchemaPlan.UpdateAttribute("title", to: "heading", optional: false, default: "Untitled")
    /// }
    /// ```
    public struct UpdateAttribute: Sendable {
        let change: AttributeChange

        /// Changes an attribute. Properties that are nil stay the same.
        /// - Parameters:
        ///   - name: The present name of the attribute.
        ///   - newName: The new name.
        ///   - attributeType: The new type. Values are converted. If a value cannot be converted, the step fails and nothing of it is
        ///     written.
        ///   - optional: Whether the attribute may be missing or null from now on. An attribute that becomes required needs a default or
        ///     a transformation.
        ///   - defaultValue: The value for records in which the attribute is missing or null.
        ///   - transform: Computes the new value from the old one, before the conversion. It may run again on the same record.
        public init(
            _ name: String, to newName: String? = nil, attributeType: AttributeType? = nil, optional: Bool? = nil,
            default defaultValue: DocumentValue? = nil,
            transform: (@Sendable (_ value: DocumentValue?, _ context: EvolutionContext) throws -> DocumentValue?)? = nil
        ) {
            change = AttributeChange(
                name: name,
                verb: .update(
                    .init(
                        newName: newName, type: attributeType, isOptional: optional, defaultValue: defaultValue, transform: transform)))
        }

        /// Changes an attribute with a transformation that needs only the old value.
        ///
        /// ```swift
        /// let shortened = SchemaPlan.UpdateEntity("notes") {
        ///     SchemaPlan.UpdateAttribute("title") { value in .string(String((value?.string ?? "").prefix(80))) }
        /// }
        /// ```
        public init(
            _ name: String, to newName: String? = nil, attributeType: AttributeType? = nil, optional: Bool? = nil,
            _ transform: @escaping @Sendable (_ value: DocumentValue?) throws -> DocumentValue?
        ) {
            self.init(name, to: newName, attributeType: attributeType, optional: optional, transform: { value, _ in try transform(value) })
        }
    }

    /// Removes an attribute from every record.
    ///
    /// ```swift
    /// let smaller = SchemaPlan.UpdateEntity("notes") { SchemaPlan.RemoveAttribute("draft") }
    /// ```
    public struct RemoveAttribute: Sendable {
        let change: AttributeChange

        /// Removes an attribute.
        public init(_ name: String) { change = AttributeChange(name: name, verb: .remove) }
    }

    /// Builds the attribute changes of an entity.
    @resultBuilder public enum AttributeChanges {
        /// A new attribute.
        public static func buildExpression(_ verb: AddAttribute) -> [AttributeChange] { [verb.change] }
        /// A changed attribute.
        public static func buildExpression(_ verb: UpdateAttribute) -> [AttributeChange] { [verb.change] }
        /// A removed attribute.
        public static func buildExpression(_ verb: RemoveAttribute) -> [AttributeChange] { [verb.change] }
        /// An array of changes.
        public static func buildExpression(_ changes: [AttributeChange]) -> [AttributeChange] { changes }
        /// All changes of a block, in order.
        public static func buildBlock(_ parts: [AttributeChange]...) -> [AttributeChange] { parts.flatMap(\.self) }
        /// The changes of an `if` without an `else`.
        public static func buildOptional(_ part: [AttributeChange]?) -> [AttributeChange] { part ?? [] }
        /// The changes of the first branch.
        public static func buildEither(first part: [AttributeChange]) -> [AttributeChange] { part }
        /// The changes of the second branch.
        public static func buildEither(second part: [AttributeChange]) -> [AttributeChange] { part }
        /// The changes of a loop.
        public static func buildArray(_ parts: [[AttributeChange]]) -> [AttributeChange] { parts.flatMap(\.self) }
    }
}

extension [SchemaPlan.AttributeChange] {
    /// Applies the changes to a record.
    /// - Throws: `StorageError` with `migrationFailed`, which names the entity, record and attribute.
    func apply(to document: inout StoredDocument, _ context: EvolutionContext) throws {
        if isEmpty { return }
        guard document.root.object != nil else {
            throw StorageError(
                StorageError.migrationFailed, key: context.record,
                "The record \(context.record) of \(context.entity) is \(document.root.kindName), and has no attributes to change. It was not changed."
            )
        }
        let old = document
        for change in self { try change.apply(to: &document, old, context) }
    }
}

extension SchemaPlan.AttributeChange {
    fileprivate func apply(to document: inout StoredDocument, _ old: StoredDocument, _ context: EvolutionContext) throws {
        let path = DocumentPath([.name(name)])
        switch verb {
        case .remove: document.remove(path)
        case .add(let type, let isOptional, let defaultValue, let compute):
            if document[path] != nil { return }
            var value = defaultValue
            if let compute { value = try calling(context) { try compute(old, context) } }
            value = try converted(value, to: type, context)
            if !isOptional { try require(value, context) }
            document[path] = value
        case .update(let update):
            var value = document[path]
            if let transform = update.transform { value = try calling(context) { [value] in try transform(value, context) } }
            if value == nil || value == .null { value = update.defaultValue ?? value }
            if let type = update.type { value = try converted(value, to: type, context) }
            let newPath = DocumentPath([.name(update.newName ?? name)])
            if let newName = update.newName, newName != name, let standing = document[newPath], standing != .null {
                // The record already has a value under the new name. The plan does not mention this value, so the
                // renamed attribute must not replace it.
                let isMissing = document[path] == nil || document[path] == .null
                if isMissing { value = try update.type.map { try converted(standing, to: $0, context) } ?? standing }
                guard isMissing || standing == value else {
                    throw failure("would take the place of another attribute, \(newName), that the record has", context)
                }
            }
            if update.isOptional == false { try require(value, context) }
            // The record has no value to rename. A value under the new name stays.
            if value == nil, document[path] == nil { return }
            document[path] = nil
            document[newPath] = value
        }
    }

    private func converted(_ value: DocumentValue?, to type: AttributeType, _ context: EvolutionContext) throws -> DocumentValue? {
        guard let value, value != .null else { return value }
        if let converted = type.converted(value) { return converted }
        throw failure("is \(value.kindName) and cannot become \(type)", context)
    }

    private func require(_ value: DocumentValue?, _ context: EvolutionContext) throws {
        if value == nil || value == .null { throw failure("is missing and may not be", context) }
    }

    private func calling(_ context: EvolutionContext, _ body: () throws -> DocumentValue?) throws -> DocumentValue? {
        do { return try body() } catch { throw failure("could not be computed", context, error) }
    }

    private func failure(_ what: String, _ context: EvolutionContext, _ error: (any Error)? = nil) -> StorageError {
        StorageError(
            StorageError.migrationFailed, key: context.record,
            "The attribute \(name) of the record \(context.record) of \(context.entity) \(what). The record was not changed.",
            underlying: error)
    }
}
