import BackendContract
import Foundation
import Synchronization

@testable import LocalData

/// A collection of documents: the shape is the test's to say.
func documents(_ name: String, _ domain: StorageDomain, version: Int = 1) -> StorageCollection<StoredDocument> {
    StorageCollection<StoredDocument>(
        name, domain: domain, owner: "Plans", description: "A test's records", typeTag: "Record",
        id: { $0["id"]?.string ?? "" }
    ).version(version)
}

/// A document with an id.
func record(_ id: String, _ properties: [String: DocumentValue] = [:]) -> StoredDocument {
    StoredDocument(.object(properties.merging(["id": .string(id)]) { $1 }))
}

/// The descriptions of required texts.
func texts(_ names: String...) -> [AttributeDescription] { names.map { AttributeDescription($0, .string) } }

extension StorageRouter {
    /// Every slot of a store, with what stands in it, in the parts that plans touch.
    func slots(_ domain: StorageDomain, _ collections: String..., also others: [String] = []) async throws -> [StorageAddress: StorageProbe]
    {
        let backend = try env.routes.backend(for: domain, key: "").1
        var found: [StorageAddress: StorageProbe] = [:]
        let namespaces = ["", "schema"] + collections.map { "collection:\($0)" } + others
        for namespace in namespaces.map({ StorageNamespace($0) }) {
            let addresses = try await backend.addresses(in: namespace)
            for (address, probe) in zip(addresses, try await backend.read(addresses, .fresh)) { found[address] = probe }
        }
        return found
    }

    /// Every record of a collection of documents, by its id.
    func all(_ collection: StorageCollection<StoredDocument>) async throws -> [String: StoredDocument] {
        var found: [String: StoredDocument] = [:]
        for try await record in storedRecords(in: collection) { found[record.id] = record.value }
        return found
    }
}

/// What a test lets go wrong.
struct Mishap: Error {}
