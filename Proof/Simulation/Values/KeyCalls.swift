import Foundation
import LocalData

/// The calls on one key, for any type of value. They take and return texts instead of values.
struct KeyCalls: Sendable {
    let key: AnyStorageKey
    let value: @Sendable (StorageRouter) async throws -> String?
    let get: @Sendable (StorageRouter) async throws -> String
    let set: @Sendable (StorageRouter, String) async throws -> Void
    /// Replaces the value with a text, or removes it for nil, and returns the previous value.
    let update: @Sendable (StorageRouter, String?) async throws -> String?
    let remove: @Sendable (StorageRouter) async throws -> Void
    let exists: @Sendable (StorageRouter) async throws -> Bool
    let force: @Sendable (StorageRouter) async throws -> MigrationResult
    /// Ends the release window of the key, in which the legacy location is kept up to date.
    let release: @Sendable (StorageRouter) async throws -> MigrationResult
    let watch: @Sendable (StorageRouter, @escaping @Sendable (String?) -> Void) async throws -> Void
    /// Encodes a text's value as JSON.
    let bytes: @Sendable (String) throws -> [UInt8]
    let change: @Sendable (inout StorageBatch, String?) -> Void

    /// Creates the calls for one record of a collection. The call `value` searches for the record in a list of the
    /// collection. All other calls use the record's key.
    init<Value: Identifiable>(
        _ collection: StorageCollection<Value>, _ id: String, text: @escaping @Sendable (Value) -> String,
        make: @escaping @Sendable (String) -> Value
    ) where Value.ID == String {
        let pages: @Sendable (StorageRouter) async throws -> String? = { router in
            for try await record in router.records(in: collection) {
                if record.id == id { return text(record) }
            }
            return nil
        }
        self.init(collection.key(id), .collection(collection), text: text, make: make, value: pages)
    }

    init<Value>(
        _ key: StorageKey<Value>, _ entry: AnyStorageKey? = nil, text: @escaping @Sendable (Value) -> String,
        make: @escaping @Sendable (String) -> Value, value: (@Sendable (StorageRouter) async throws -> String?)? = nil
    ) {
        self.key = entry ?? .key(key)
        self.value = value ?? { try await $0.value(for: key).map(text) }
        get = { text(try await $0.get(key)) }
        set = { try await $0.set(make($1), for: key) }
        update = { router, new in
            try await router.update(key) { value -> String? in
                defer { value = new.map(make) }
                return value.map(text)
            }
        }
        remove = { try await $0.remove(key) }
        exists = { try await $0.exists(key) }
        force = { try await $0.forceMigration(for: key) }
        release = { try await $0.endReleaseWindow(for: key) }
        watch = { router, see in for try await value in router.values(for: key) { see(value.map(text)) } }
        bytes = { Array(try JSONEncoder().encode(make($0))) }
        change = { batch, new in
            if let new { batch.set(make(new), for: key) } else { batch.remove(key) }
        }
    }

    init(_ key: StorageKey<String>) { self.init(key, text: { $0 }, make: { $0 }) }
}
