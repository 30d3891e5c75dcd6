/// Where a chain of versions begins.
///
/// ```swift
/// let evolution = Evolution.from(version: 1)
///     .to { $0.rename("name", to: "title") }
///     .decoding(NoteV2.self).to { Note($0) }
/// let notes = StorageCollection<Note>("notes", …).evolving(evolution)
/// ```
///
/// Each step leads to the next version. A stored record of any version on the way is brought to the end of the chain when it is read, and written back in
/// its new shape. A step may run again on the same record, so it must not invent anything: see ``EvolutionContext/identity``.
public enum Evolution {
    /// Begins a chain with documents: what was stored is changed by the names of its properties.
    /// - Parameter version: The earliest version that can be read, and the version of what carries none.
    public static func from(version: Int = 1) -> DocumentEvolution { DocumentEvolution(chain: EvolutionChain(base: version)) }

    /// Begins a chain with a type that still exists in the program.
    /// - Parameters:
    ///   - type: The type of what was stored.
    ///   - version: The earliest version that can be read, and the version of what carries none.
    public static func from<Value: Codable & Sendable>(_ type: Value.Type, version: Int = 1) -> TypedEvolution<Value> {
        from(version: version).decoding(type)
    }

    /// A chain of steps that are put together at run time. What is wrong with it - two steps from one version, a circle, a gap - is told when the key or collection is
    /// registered or first used, before anything is written.
    /// - Parameters:
    ///   - steps: The steps, in any order.
    ///   - base: The earliest version that can be read, and the version of what carries none.
    ///   - version: The version that the chain ends in.
    public static func steps(_ steps: [EvolutionStep], from base: Int = 1, to version: Int) -> DocumentEvolution {
        var chain = EvolutionChain(base: base)
        chain.steps = steps
        chain.version = version
        return DocumentEvolution(chain: chain)
    }
}

/// A chain of versions that ends in a document.
public struct DocumentEvolution: Sendable {
    var chain: EvolutionChain

    /// The version that the chain ends in.
    public var version: Int { chain.version }

    /// Adds a step that changes the document.
    /// - Parameters:
    ///   - version: The version that it leads to; the next one when not given.
    ///   - body: Changes the document. What it throws leaves the record as it is.
    public func to(version: Int? = nil, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void) -> DocumentEvolution {
        to(version: version) { document, _ in try body(&document) }
    }

    /// Adds a step that changes the document and asks which record it is.
    public func to(
        version: Int? = nil, _ body: @escaping @Sendable (inout StoredDocument, EvolutionContext) throws -> Void
    ) -> DocumentEvolution {
        DocumentEvolution(chain: chain.adding(to: version, EvolutionStep.change(body)))
    }

    /// Adds a block that is run once for each stored value of any earlier version of the chain.
    ///
    /// It is given the old version's number, the old document to look at, and the new one to fill, which begins as a copy of the old.
    /// - Parameters:
    ///   - version: The version that it leads to; the next one when not given.
    ///   - block: Fills the new document.
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
        // Whatever earlier version a record has, the block runs once.
        next.chain.steps.append(step(from: chain.base...max(chain.base, target - 1), .shortcut))
        next.chain.version = target
        return next
    }

    /// Says which type the documents of this version are: the next step works on it, or the chain ends in it.
    public func decoding<Value: Codable & Sendable>(_ type: Value.Type) -> TypedEvolution<Value> { TypedEvolution(chain: chain) }

    /// Adds a shorter way from one version to a later one, which is taken instead of the steps between them.
    public func shortcut(
        from: Int, to: Int, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void
    ) -> DocumentEvolution {
        var next = self
        next.chain.steps.append(
            EvolutionStep(from: from...from, to: to, role: .shortcut) { value, _ in try value.changeDocument(body) })
        return next
    }

    /// This chain, keeping the bytes of each record before its first step: see ``StorageRouter/restoreBackup(for:version:)``.
    public func keepingBackup() -> DocumentEvolution {
        var next = self
        next.chain.keepsBackup = true
        return next
    }
}

/// A chain of versions that ends in a type.
public struct TypedEvolution<Value: Codable & Sendable>: Sendable {
    var chain: EvolutionChain

    /// The version that the chain ends in.
    public var version: Int { chain.version }

    /// Adds a step that makes a value of another type.
    /// - Parameters:
    ///   - version: The version that it leads to; the next one when not given.
    ///   - body: Makes the new value. What it throws leaves the record as it is.
    public func to<Next: Codable & Sendable>(
        version: Int? = nil, _ body: @escaping @Sendable (Value) throws -> Next
    ) -> TypedEvolution<Next> {
        to(version: version) { value, _ in try body(value) }
    }

    /// Adds a step that makes a value of another type and asks which record it is.
    public func to<Next: Codable & Sendable>(
        version: Int? = nil, _ body: @escaping @Sendable (Value, EvolutionContext) throws -> Next
    ) -> TypedEvolution<Next> {
        TypedEvolution<Next>(chain: chain.adding(to: version, Self.change(body)))
    }

    /// Adds a step that changes the value's document.
    public func to(version: Int? = nil, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void) -> DocumentEvolution {
        DocumentEvolution(chain: chain).to(version: version, body)
    }

    private static func change<Old: Codable & Sendable, New: Codable & Sendable>(
        _ body: @escaping @Sendable (Old, EvolutionContext) throws -> New
    ) -> EvolutionStep.Change {
        { value, context in value.replace(with: try body(try value.decoded(Old.self), context)) }
    }

    /// Adds a shorter way from one version to a later one, which is taken instead of the steps between them.
    public func shortcut(
        from: Int, to: Int, _ body: @escaping @Sendable (inout StoredDocument) throws -> Void
    ) -> TypedEvolution {
        TypedEvolution(chain: DocumentEvolution(chain: chain).shortcut(from: from, to: to, body).chain)
    }

    /// This chain, keeping the bytes of each record before its first step: see ``StorageRouter/restoreBackup(for:version:)``.
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
        // A step that leads nowhere is told when the chain is first used; a range needs its bounds in order.
        next.steps.append(EvolutionStep(from: self.version...self.version, to: target, role: .link, apply: apply))
        next.version = target
        return next
    }
}
