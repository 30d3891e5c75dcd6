import BackendContract
import Foundation
import Synchronization

@testable import LocalData

/// Returns a collection of documents. The test decides which properties they have.
func documents(_ name: String, _ domain: StorageDomain, version: Int = 1) -> StorageCollection<StoredDocument> {
    StorageCollection<StoredDocument>(
        name, domain: domain, owner: "Plans", description: "A test's records", typeTag: "Record",
        id: { $0["id"]?.string ?? "" }
    ).version(version)
}

/// Returns a document with an id.
func record(_ id: String, _ properties: [String: DocumentValue] = [:]) -> StoredDocument {
    StoredDocument(.object(properties.merging(["id": .string(id)]) { $1 }))
}

/// Returns descriptions of required text attributes.
func texts(_ names: String...) -> [AttributeDescription] { names.map { AttributeDescription($0, .string) } }

extension StorageRouter {
    /// Returns the content of every slot of a domain in the namespaces that plans use.
    func slots(_ domain: StorageDomain, _ collections: String..., also others: [String] = []) async throws -> [StorageAddress: StorageProbe]
    {
        let backend = try slots.routes.backend(for: domain, key: "").1
        var found: [StorageAddress: StorageProbe] = [:]
        let namespaces = ["", "schema"] + collections.map { "collection:\($0)" } + others
        for namespace in namespaces.map({ StorageNamespace($0) }) {
            let addresses = try await backend.addresses(in: namespace)
            for (address, probe) in zip(addresses, try await backend.read(addresses, .fresh)) { found[address] = probe }
        }
        return found
    }

    /// Returns every document of a collection, by its id.
    func all(_ collection: StorageCollection<StoredDocument>) async throws -> [String: StoredDocument] {
        var found: [String: StoredDocument] = [:]
        for try await record in storedRecords(in: collection) { found[record.id] = record.value }
        return found
    }
}

/// An error that a test throws on purpose.
struct Mishap: Error {}
