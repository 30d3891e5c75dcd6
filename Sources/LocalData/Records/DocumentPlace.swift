import BackendContract
import Foundation

/// Where an entity's records are, and how they are read and written as documents, without their type: a collection, or the one record of a key.
package struct DocumentPlace: Sendable {
    let entity: String
    package let isCollection: Bool
    package let domain: StorageDomain
    let security: SecurityPolicy
    /// What the program declares of the entity; nil for one that it does not have any more.
    let declared: DeclaredEntity?

    /// The place of an entity that the program declares.
    package init(_ entity: String, _ declared: DeclaredEntity) {
        self.entity = entity
        (isCollection, domain, security) = (declared.isCollection, declared.domain, declared.security)
        self.declared = declared
    }

    /// The place of an entity that the program does not have any more.
    package init(_ entity: String, isCollection: Bool, domain: StorageDomain, security: SecurityPolicy) {
        (self.entity, self.isCollection, self.domain, self.security) = (entity, isCollection, domain, security)
        declared = nil
    }

    /// The part of the store that the records are in.
    var namespace: StorageNamespace { isCollection ? .collection(entity) : .values }

    /// The key of a record as a document. Its serializer and its type's tag stay as they are stored.
    /// - Parameters:
    ///   - id: The record's id; for a key, its name.
    ///   - past: What is known of the record.
    ///   - chain: The chain that it is to come; nil to read and write it as it is.
    ///   - version: The version to write without a chain; the record's own when not given.
    ///   - demandsOwnTag: Whether what is written gets the tag of the program's own type, since it comes from another entity.
    func key(
        _ id: String, _ past: StorageMetadata, _ chain: EvolutionChain? = nil, version: Int? = nil, demandsOwnTag: Bool = false
    ) -> StorageKey<StoredDocument> {
        let serializer = past.serializer ?? declared?.serializer ?? "json"
        var key = StorageKey<StoredDocument>(
            name: id, domain: domain, security: security, serializer: Self.serializer(serializer), owner: "plan", description: entity)
        let tag = demandsOwnTag ? declared?.typeTag ?? past.typeTag : past.typeTag ?? declared?.typeTag
        key.membership = RecordMembership(
            namespace: namespace, entity: entity, typeTag: tag, demandsTypeTag: isCollection, acceptsOtherTags: true)
        if let chain { return key.evolving(chain) }
        return key.version(version ?? past.schemaVersion ?? 1)
    }

    private static func serializer(_ name: String) -> Serializer<StoredDocument> {
        switch name {
        case "json": .json
        case "plist": .plist
        case "data": .dataDocument
        // It cannot be read as a document, and says so when it is tried.
        default:
            .custom(name: name) { _ in
                throw CocoaError(.coderInvalidValue)
            } decode: { _ in
                throw CocoaError(.coderReadCorrupt)
            }
        }
    }

    /// The name of the slot that a record has here.
    func id(of record: String) -> String { isCollection ? record : entity }

    /// A chain whose end has to be of the program's own type, where that is what the program declares.
    func checking(_ chain: EvolutionChain, _ coder: RecordCoder) -> EvolutionChain {
        guard let declared, declared.version == chain.version else { return chain }
        var checked = chain
        checked.steps = chain.steps.map { step in
            guard step.to == chain.version else { return step }
            return EvolutionStep(from: step.from, to: step.to, role: step.role) { value, context in
                try step.apply(&value, context)
                try declared.require(try value.document(), coder, context.entity, context.record)
            }
        }
        return checked
    }
}

/// What a program declares of an entity's records.
package struct DeclaredEntity: Sendable {
    package let isCollection: Bool
    package let domain: StorageDomain
    package let security: SecurityPolicy
    /// Whether the key or collection has a chain of versions of its own.
    package let hasChain: Bool
    package let version: Int
    package let typeTag: String
    package let serializer: String
    package let valueType: any (Codable & Sendable).Type
    let evolution: EvolutionChain?
    /// Fails for a document that is none of the program's type.
    let check: @Sendable (RecordCoder, StoredDocument) throws -> Void

    /// Whether a value of a version can be read: it has the present version, or steps lead from its version to that.
    package func canRead(version stored: Int) -> Bool {
        if stored == version { return true }
        guard let evolution, evolution.problem == nil, evolution.known.contains(stored) else { return false }
        return evolution.way(from: stored)?.last?.to == version
    }

    /// Fails for a document that is none of the program's type.
    /// - Throws: ``StorageError`` with `migrationFailed`, naming the record.
    func require(_ document: StoredDocument, _ coder: RecordCoder, _ entity: String, _ record: String) throws {
        do { try check(coder, document) } catch {
            throw StorageError(
                StorageError.migrationFailed, key: record,
                "The record \(record) of \(entity) could not be read as \(typeTag), the type that the program declares: \(CodingFailure(error)). It is left as it is.",
                underlying: CodingFailure(error))
        }
    }
}

extension AnyStorageKey {
    /// What the program declares of the records of this key or collection.
    package var declaredEntity: DeclaredEntity {
        func declaration<Key: TypedKey>(of key: Key, isCollection: Bool) -> DeclaredEntity {
            let typed = key.typed
            return DeclaredEntity(
                isCollection: isCollection, domain: typed.domain, security: typed.security, hasChain: typed.evolution != nil,
                version: typed.schemaVersion, typeTag: typed.typeTag, serializer: typed.serializer.name, valueType: Key.Value.self,
                evolution: typed.evolution
            ) { coder, document in
                do { _ = try document.decode(Key.Value.self) } catch {
                    if (try? coder.completed(.document(document), typed)) ?? nil != nil { return }
                    throw error
                }
            }
        }
        func declaration<Collection: TypedCollection>(of collection: Collection) -> DeclaredEntity {
            declaration(of: collection.typed.template, isCollection: true)
        }
        if let collection { return declaration(of: collection) }
        return declaration(of: base, isCollection: false)
    }
}
