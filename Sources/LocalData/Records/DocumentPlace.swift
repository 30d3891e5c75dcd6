import BackendContract
import Foundation

/// The location of an entity's records, which are read and written as documents, without their Swift type. An entity is a
/// collection, or a key with its single record.
package struct DocumentPlace: Sendable {
    let entity: String
    package let isCollection: Bool
    package let domain: StorageDomain
    let security: SecurityPolicy
    /// The program's declaration of the entity; nil if the program no longer has the entity.
    let declared: DeclaredEntity?

    /// Creates the location of an entity that the program declares.
    package init(_ entity: String, _ declared: DeclaredEntity) {
        self.entity = entity
        (isCollection, domain, security) = (declared.isCollection, declared.domain, declared.security)
        self.declared = declared
    }

    /// Creates the location of an entity that the program no longer has.
    package init(_ entity: String, isCollection: Bool, domain: StorageDomain, security: SecurityPolicy) {
        (self.entity, self.isCollection, self.domain, self.security) = (entity, isCollection, domain, security)
        declared = nil
    }

    /// The namespace of the records in their store.
    var namespace: StorageNamespace { isCollection ? .collection(entity) : .values }

    /// Returns the key with which a record is read and written as a document. Unless a parameter says otherwise, it keeps the
    /// serializer, type tag and version of the stored record.
    /// - Parameters:
    ///   - id: The id of the record; for a key, its name.
    ///   - past: The metadata of the stored record.
    ///   - chain: The chain that converts the record; nil to read and write it without conversion.
    ///   - version: The version to write without a chain; nil for the version of the stored record.
    ///   - demandsOwnTag: Whether to write the type tag that the program declares, because the record comes from another entity.
    func key(
        _ id: String, _ past: StorageMetadata, _ chain: EvolutionChain? = nil, version: Int? = nil, demandsOwnTag: Bool = false
    ) -> StorageKey<StoredDocument> {
        let serializer = past.serializer ?? declared?.serializer ?? "json"
        let tag = demandsOwnTag ? declared?.typeTag ?? past.typeTag : past.typeTag ?? declared?.typeTag
        let key = StorageKey<StoredDocument>(
            name: id, domain: domain, security: security, serializer: Self.serializer(serializer), owner: "plan", description: entity
        )
        .belonging {
            $0 = RecordMembership(namespace: namespace, entity: entity, typeTag: tag, isRecord: isCollection, acceptsOtherTags: true)
        }
        if let chain { return key.evolving(chain) }
        return key.version(version ?? past.schemaVersion ?? 1)
    }

    private static func serializer(_ name: String) -> Serializer<StoredDocument> {
        switch name {
        case "json": .json
        case "plist": .plist
        case "data": .dataDocument
        // Bytes of any other serializer cannot be read as a document. Each attempt throws an error.
        default:
            .custom(name: name) { _ in
                throw CocoaError(.coderInvalidValue)
            } decode: { _ in
                throw CocoaError(.coderReadCorrupt)
            }
        }
    }

    /// Returns the name of the slot for a record: the id in a collection, or the name of the key.
    func id(of record: String) -> String { isCollection ? record : entity }

    /// Returns a chain whose last step also checks that its result can be decoded as the type that the program declares.
    /// Returns the chain unchanged if the program declares another version than the last one of the chain, or no longer has the
    /// entity.
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

/// The program's declaration of an entity: a key, or the records of a collection.
package struct DeclaredEntity: Sendable {
    package let isCollection: Bool
    package let domain: StorageDomain
    package let security: SecurityPolicy
    /// Whether the key or collection declares a chain of versions.
    package let hasChain: Bool
    package let version: Int
    package let typeTag: String
    package let serializer: String
    package let valueType: any (Codable & Sendable).Type
    let evolution: EvolutionChain?
    /// Throws if a document cannot be decoded as the type that the program declares.
    let check: @Sendable (RecordCoder, StoredDocument) throws -> Void

    /// Returns whether a value of a version can be read: it has the declared version, or steps of the chain lead from its
    /// version to the declared one.
    package func canRead(version stored: Int) -> Bool {
        if stored == version { return true }
        guard let evolution, evolution.problem == nil, evolution.known.contains(stored) else { return false }
        return evolution.way(from: stored)?.last?.to == version
    }

    /// Checks that a document can be decoded as the type that the program declares.
    /// - Throws: ``StorageError`` with `migrationFailed`, which names the record.
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
    /// The program's declaration of this key, or of the records of this collection.
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
        let key = collection?.anyTemplate ?? base
        return declaration(of: key, isCollection: collection != nil)
    }
}
