public import LocalData

extension SchemaPlan {
    /// What a closure of a plan makes of a record: the new value of an attribute.
    public typealias Computation = @Sendable (_ old: StoredDocument, _ context: EvolutionContext) throws -> DocumentValue?

    /// One change of an entity's attributes: what ``AddAttribute``, ``UpdateAttribute`` and ``RemoveAttribute`` stand for.
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

        /// The verb and the attribute, as messages name them.
        var spelling: String {
            switch verb {
            case .add: "AddAttribute \(name)"
            case .update: "UpdateAttribute \(name)"
            case .remove: "RemoveAttribute \(name)"
            }
        }

        /// What it does, in words that are the same for the same change.
        var identity: String {
            switch verb {
            case .add(let type, _, _, _): "\(spelling) (\(type))"
            case .update(let update):
                spelling + (update.newName.map { " to \($0)" } ?? "") + (update.type.map { " (\($0))" } ?? "")
            case .remove: spelling
            }
        }
    }

    /// A new attribute.
    public struct AddAttribute: Sendable {
        let change: AttributeChange

        /// Adds an attribute.
        /// - Parameters:
        ///   - name: The name under which it is stored.
        ///   - attributeType: What it holds.
        ///   - optional: Whether it may be missing or null.
        ///   - defaultValue: What it is in records that are there already; a required one needs it in an ``UpdateEntity``.
        public init(_ name: String, attributeType: AttributeType, optional: Bool = false, default defaultValue: DocumentValue? = nil) {
            change = AttributeChange(name: name, verb: .add(attributeType, isOptional: optional, default: defaultValue, nil))
        }

        /// Adds an attribute that is computed from the record as it was before the ``UpdateEntity``.
        /// - Parameters:
        ///   - name: The name under which it is stored.
        ///   - attributeType: What it holds: what the closure makes is converted to it.
        ///   - optional: Whether it may be missing or null.
        ///   - value: Makes the value. It may run again on the same record, so it must not invent anything: see ``EvolutionContext/identity``.
        public init(
            _ name: String, attributeType: AttributeType, optional: Bool = false,
            _ value: @escaping @Sendable (_ old: StoredDocument, _ context: EvolutionContext) throws -> DocumentValue?
        ) {
            change = AttributeChange(name: name, verb: .add(attributeType, isOptional: optional, default: nil, value))
        }

        /// Adds an attribute that is computed from the record as it was before the ``UpdateEntity``.
        public init(
            _ name: String, attributeType: AttributeType, optional: Bool = false,
            _ value: @escaping @Sendable (_ old: StoredDocument) throws -> DocumentValue?
        ) {
            self.init(name, attributeType: attributeType, optional: optional) { old, _ in try value(old) }
        }
    }

    /// An attribute under another name, of another type, or required where it was not.
    public struct UpdateAttribute: Sendable {
        let change: AttributeChange

        /// Changes an attribute; what is not given stays.
        /// - Parameters:
        ///   - name: The attribute.
        ///   - newName: Its new name.
        ///   - attributeType: Its new type. Values are converted; one that cannot be fails the step, and nothing of it is written.
        ///   - optional: Whether it may be missing or null from now on. One that becomes required needs a default or a transformation.
        ///   - defaultValue: What it is where it is missing or null.
        ///   - transform: Makes the new value of the old one, before it is converted. It may run again on the same record.
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

        /// Changes an attribute by its value alone.
        public init(
            _ name: String, to newName: String? = nil, attributeType: AttributeType? = nil, optional: Bool? = nil,
            _ transform: @escaping @Sendable (_ value: DocumentValue?) throws -> DocumentValue?
        ) {
            self.init(name, to: newName, attributeType: attributeType, optional: optional, transform: { value, _ in try transform(value) })
        }
    }

    /// The end of an attribute: records lose it.
    public struct RemoveAttribute: Sendable {
        let change: AttributeChange

        /// Removes an attribute.
        public init(_ name: String) { change = AttributeChange(name: name, verb: .remove) }
    }

    /// Puts the changes of an entity's attributes together.
    @resultBuilder public enum AttributeChanges {
        /// A new attribute.
        public static func buildExpression(_ verb: AddAttribute) -> [AttributeChange] { [verb.change] }
        /// A changed attribute.
        public static func buildExpression(_ verb: UpdateAttribute) -> [AttributeChange] { [verb.change] }
        /// A removed attribute.
        public static func buildExpression(_ verb: RemoveAttribute) -> [AttributeChange] { [verb.change] }
        /// Changes that were put together elsewhere.
        public static func buildExpression(_ changes: [AttributeChange]) -> [AttributeChange] { changes }
        /// One after the other.
        public static func buildBlock(_ parts: [AttributeChange]...) -> [AttributeChange] { parts.flatMap(\.self) }
        /// Those of an `if`.
        public static func buildOptional(_ part: [AttributeChange]?) -> [AttributeChange] { part ?? [] }
        /// Those of the first branch.
        public static func buildEither(first part: [AttributeChange]) -> [AttributeChange] { part }
        /// Those of the other branch.
        public static func buildEither(second part: [AttributeChange]) -> [AttributeChange] { part }
        /// Those of a loop.
        public static func buildArray(_ parts: [[AttributeChange]]) -> [AttributeChange] { parts.flatMap(\.self) }
    }
}

extension [SchemaPlan.AttributeChange] {
    /// Makes the changes to a record.
    /// - Throws: ``StorageError`` with `migrationFailed`, naming entity, record and attribute.
    func apply(to document: inout StoredDocument, _ context: EvolutionContext) throws {
        if isEmpty { return }
        guard document.root.object != nil else {
            throw StorageError(
                StorageError.migrationFailed, key: context.record,
                "The record \(context.record) of \(context.entity) is \(document.root.kindName), and has no attributes to change. It is left as it is."
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
                // The plan does not know the value there, so it must not replace it.
                let isMissing = document[path] == nil || document[path] == .null
                if isMissing { value = try update.type.map { try converted(standing, to: $0, context) } ?? standing }
                guard isMissing || standing == value else {
                    throw failure("would take the place of another attribute, \(newName), that the record has", context)
                }
            }
            if update.isOptional == false { try require(value, context) }
            // Where there is nothing, there is nothing to rename: what has the new name already stays.
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
            "The attribute \(name) of the record \(context.record) of \(context.entity) \(what). The record is left as it is.",
            underlying: error)
    }
}
