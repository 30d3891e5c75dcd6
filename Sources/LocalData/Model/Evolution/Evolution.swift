/// Describes how stored values of earlier versions of a type become values of the current type.
///
/// Use it when a stored type changes its properties. It begins a chain of versions. Each step converts a value to a
/// later version, by default the next one.
///
/// ```swift
/// let person: StorageKey<Person> = settings.key("person", "The person who signs reports")
///     .evolving(
///         Evolution.from(version: 1)
///             .to { $0.rename("name", to: "first") }  // version 2
///             .to { $0.add("nickname", default: "") })  // version 3
/// do { print(try await storage.get(person).nickname) } catch StorageError.incompatibleSchema {
///     print("A later version of the program stored this value. It was not changed.")
/// }
/// ```
///
/// A stored record of any version of the chain is converted to its last version when it is read. The converted record
/// is then written back. If a step throws, the call throws `migrationFailed`, and the stored record is left unchanged.
/// A step may run again on the same record, so it must not generate random values: see ``EvolutionContext/identity``.
public enum Evolution {
    /// Begins a chain whose first steps work on documents, which contain the stored properties by name.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1)
    ///     .to { $0.rename("name", to: "title") }
    ///     .to { document in
    ///         try document.convert("stars", to: .integer)  // if it throws, `get` throws migrationFailed and the record stays
    ///     }
    /// print(chain.version)  // 3
    /// let notes: StorageCollection<Note> = settings.collection("notes", "The user's notes").evolving(chain)
    /// ```
    /// - Parameter version: The earliest version that can be read. Stored values without a version count as this
    ///   version.
    public static func from(version: Int = 1) -> DocumentEvolution { DocumentEvolution(chain: EvolutionChain(base: version)) }

    /// Begins a chain with the type of an earlier version that the program still has.
    ///
    /// ```swift
    /// let chain = Evolution.from(PersonV1.self)  // version 1, and values without a version
    ///     .to { old in PersonV2(first: old.fullName, last: "") }  // version 2
    ///     .to { old in Person(first: old.first, last: old.last, nickname: old.first) }  // version 3
    /// ```
    /// - Parameters:
    ///   - type: The type of the stored values.
    ///   - version: The earliest version that can be read. Stored values without a version count as this version.
    public static func from<Value: Codable & Sendable>(_ type: Value.Type, version: Int = 1) -> TypedEvolution<Value> {
        from(version: version).decoding(type)
    }

    /// Creates a chain from steps that are assembled at run time.
    ///
    /// The chain must not have two steps from one version, a cycle, or a gap. An error is reported when the key or
    /// collection is registered or first used, before anything is written.
    ///
    /// ```swift
    /// let steps = [
    ///     EvolutionStep(from: 1, to: 2) { document, _ in document.rename("name", to: "title") },
    ///     EvolutionStep(from: 2, to: 3) { document, _ in try document.convert("stars", to: .integer) },
    /// ]
    /// let chain = Evolution.steps(steps, to: 3)  // a gap is reported as invalidEvolution when the key is first used
    /// ```
    /// - Parameters:
    ///   - steps: The steps, in any order.
    ///   - base: The earliest version that can be read. Stored values without a version count as this version.
    ///   - version: The last version of the chain.
    public static func steps(_ steps: [EvolutionStep], from base: Int = 1, to version: Int) -> DocumentEvolution {
        var chain = EvolutionChain(base: base)
        chain.steps = steps
        chain.version = version
        return DocumentEvolution(chain: chain)
    }
}

/// A chain of versions whose last version is a document: the stored properties by name, without a Swift type.
///
/// A chain of documents needs no Swift types of earlier versions. Use it for renamed, added and removed properties.
///
/// ```swift
/// let chain = Evolution.from(version: 1)
///     .to { $0.rename("name", to: "title") }
///     .to { document in
///         try document.convert("stars", to: .integer)  // if it throws, `get` throws migrationFailed and the record stays
///     }
/// print(chain.version)  // 3
/// let notes: StorageCollection<Note> = settings.collection("notes", "The user's notes").evolving(chain)
/// ```
public struct DocumentEvolution: Sendable {
    var chain: EvolutionChain

    /// The last version of the chain.
    public var version: Int { chain.version }

    /// Adds a step that changes the document.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1)
    ///     .to { $0["place.city"] = nil }
    ///     .to(version: 5) { $0.add("stars", default: 0) }  // from version 2 directly to version 5
    /// ```
    /// - Parameters:
    ///   - version: The version after the step; by default the next one.
    ///   - body: Changes the document. If it throws, the stored record is left unchanged.
    public func to(version: Int? = nil, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void) -> DocumentEvolution {
        to(version: version) { document, _ in try body(&document) }
    }

    /// Adds a step that changes the document and receives the context of the record.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1)
    ///     .to { document, context in document["token"] = .string(context.identity.uuidString) }
    /// ```
    public func to(
        version: Int? = nil, _ body: @escaping @Sendable (inout StoredDocument, EvolutionContext) throws -> Void
    ) -> DocumentEvolution {
        DocumentEvolution(chain: chain.adding(to: version, EvolutionStep.change(body)))
    }

    /// Adds a step that runs once for each stored value of any earlier version of the chain.
    ///
    /// The step replaces all steps before it. The block receives the number of the old version, the old document, and a
    /// copy of the old document. The block changes the copy.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1).enumerating(to: 3) { storedVersion, old, new in
    ///     new["title"] = storedVersion == 1 ? old["name"] : old["label"]
    ///     new["name"] = nil
    ///     new["label"] = nil
    /// }
    /// ```
    /// - Parameters:
    ///   - version: The version after the step; by default the next one.
    ///   - block: Changes the new document.
    public func enumerating(
        to version: Int? = nil,
        _ block: @escaping @Sendable (_ oldVersion: Int, _ old: StoredDocument, _ new: inout StoredDocument) throws -> Void
    ) -> DocumentEvolution {
        var next = self
        let target = version ?? chain.version + 1
        func step(from: ClosedRange<Int>, _ role: EvolutionStep.Role) -> EvolutionStep {
            EvolutionStep(from: from, to: target, role: role) { value, context in
                let old = try value.document()
                try value.changeDocument { try block(context.storedVersion, old, &$0) }
            }
        }
        next.chain.steps.append(step(from: chain.version...chain.version, .link))
        // This shortcut begins at every earlier version, so the block is the only step that runs.
        next.chain.steps.append(step(from: chain.base...max(chain.base, target - 1), .shortcut))
        next.chain.version = target
        return next
    }

    /// Declares the Swift type that the documents of this version decode as. The next step receives a value of this
    /// type. If there is no next step, the chain ends in this type.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1)
    ///     .to { $0.rename("name", to: "first") }
    ///     .decoding(PersonV2.self)  // version 2 has a Swift type
    ///     .to { old in Person(first: old.first, last: old.last, nickname: "") }
    /// ```
    public func decoding<Value: Codable & Sendable>(_ type: Value.Type) -> TypedEvolution<Value> { TypedEvolution(chain: chain) }

    /// Adds a shortcut from one version to a later one. It runs instead of the steps between them.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1)
    ///     .to { $0.rename("name", to: "label") }
    ///     .to { $0.rename("label", to: "title") }
    ///     .shortcut(from: 1, to: 3) { $0.rename("name", to: "title") }
    /// ```
    public func shortcut(from: Int, to: Int, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void) -> DocumentEvolution {
        var next = self
        next.chain.steps.append(
            EvolutionStep(from: from...from, to: to, role: .shortcut) { value, _ in try value.changeDocument(body) })
        return next
    }

    /// Returns this chain with backups: the router keeps the bytes of each record before the first step. See
    /// ``StorageRouter/restoreBackup(for:version:)``.
    ///
    /// ```swift
    /// let note: StorageKey<Note> = settings.key("note", "The note on the desk")
    ///     .evolving(Evolution.from(version: 1).to { $0.rename("name", to: "title") }.keepingBackup())
    /// // To withdraw a faulty release, restore the bytes of the earlier version.
    /// let version = try await storage.restoreBackup(for: note)  // 1; nil if there is no backup
    /// ```
    public func keepingBackup() -> DocumentEvolution {
        var next = self
        next.chain.keepsBackup = true
        return next
    }
}

/// A chain of versions whose last version is a Swift type.
///
/// Use it while the program still has the types of earlier versions. The compiler then checks each step.
///
/// ```swift
/// let person: StorageKey<Person> = settings.key("person", "The person who signs reports")
///     .evolving(
///         Evolution.from(PersonV1.self).to { old in
///             guard let first = old.fullName.split(separator: " ").first else { throw NotANumber() }  // the value stays
///             return Person(first: String(first), last: "", nickname: String(first))
///         })
/// ```
public struct TypedEvolution<Value: Codable & Sendable>: Sendable {
    var chain: EvolutionChain

    /// The last version of the chain.
    public var version: Int { chain.version }

    /// Adds a step that converts the value to another type.
    ///
    /// ```swift
    /// let chain = Evolution.from(PersonV1.self)  // version 1, and values without a version
    ///     .to { old in PersonV2(first: old.fullName, last: "") }  // version 2
    ///     .to { old in Person(first: old.first, last: old.last, nickname: old.first) }  // version 3
    /// ```
    /// - Parameters:
    ///   - version: The version after the step; by default the next one.
    ///   - body: Returns the new value. If it throws, the stored record is left unchanged.
    public func to<Next: Codable & Sendable>(
        version: Int? = nil, _ body: @escaping @Sendable (Value) throws -> Next
    ) -> TypedEvolution<Next> {
        to(version: version) { value, _ in try body(value) }
    }

    /// Adds a step that converts the value to another type and receives the context of the record.
    ///
    /// ```swift
    /// let chain = Evolution.from(PersonV1.self)
    ///     .to { old, context in PersonV2(first: old.fullName, last: context.record) }
    /// ```
    public func to<Next: Codable & Sendable>(
        version: Int? = nil, _ body: @escaping @Sendable (Value, EvolutionContext) throws -> Next
    ) -> TypedEvolution<Next> {
        TypedEvolution<Next>(chain: chain.adding(to: version, Self.change(body)))
    }

    /// Adds a step that changes the value as a document.
    ///
    /// ```swift
    /// let chain = Evolution.from(PersonV2.self)
    ///     .to { $0["nickname"] = $0["first"] }  // version 2, without a Swift type
    /// ```
    public func to(version: Int? = nil, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void) -> DocumentEvolution {
        DocumentEvolution(chain: chain).to(version: version, body)
    }

    private static func change<Old: Codable & Sendable, New: Codable & Sendable>(
        _ body: @escaping @Sendable (Old, EvolutionContext) throws -> New
    ) -> EvolutionStep.Change {
        { value, context in value.replace(with: try body(try value.decoded(Old.self), context)) }
    }

    /// Adds a shortcut from one version to a later one. It runs instead of the steps between them.
    ///
    /// ```swift
    /// let chain = Evolution.from(PersonV1.self)
    ///     .to { old in PersonV2(first: old.fullName, last: "") }
    ///     .to { old in Person(first: old.first, last: old.last, nickname: "") }
    ///     .shortcut(from: 1, to: 3) { document in
    ///         document.rename("fullName", to: "first")
    ///         document.add("last", default: "")
    ///         document.add("nickname", default: "")
    ///     }
    /// ```
    public func shortcut(from: Int, to: Int, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void) -> TypedEvolution {
        TypedEvolution(chain: DocumentEvolution(chain: chain).shortcut(from: from, to: to, body).chain)
    }

    /// Returns this chain with backups: the router keeps the bytes of each record before the first step. See
    /// ``StorageRouter/restoreBackup(for:version:)``.
    ///
    /// ```swift
    /// let note: StorageKey<Note> = settings.key("note", "The note on the desk")
    ///     .evolving(Evolution.from(version: 1).to { $0.rename("name", to: "title") }.keepingBackup())
    /// // To withdraw a faulty release, restore the bytes of the earlier version.
    /// let version = try await storage.restoreBackup(for: note)  // 1; nil if there is no backup
    /// ```
    public func keepingBackup() -> TypedEvolution {
        var next = self
        next.chain.keepsBackup = true
        return next
    }
}

extension EvolutionChain {
    fileprivate func adding(to version: Int?, _ apply: @escaping EvolutionStep.Change) -> EvolutionChain {
        var next = self
        let target = version ?? self.version + 1
        // The range contains only the start version. A range up to the target would crash here if the target were an
        // earlier version. The chain reports such a step when it is first used.
        next.steps.append(EvolutionStep(from: self.version...self.version, to: target, role: .link, apply: apply))
        next.version = target
        return next
    }
}
