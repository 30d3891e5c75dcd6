import Foundation
import LocalData
import LocalDataModels

/// Values for the fixture of a release, made from the shapes of the keys.
enum SampleValues {
    /// Stores a sample value for a key, or one sample record in a collection.
    /// - Returns: Whether a sample could be made.
    static func write(_ entry: AnyStorageKey, to router: StorageRouter) async throws -> Bool {
        func write<Key: OpenedKey>(_ key: Key) async throws -> Bool {
            guard let value = value(of: Key.Value.self) else { return false }
            try await router.set(value, for: key.typed)
            return true
        }
        func write<Collection: TypedCollection>(record collection: Collection) async throws -> Bool {
            guard let record = value(of: Collection.Record.self) else { return false }
            try await router.set(record, in: collection.typed)
            return true
        }
        // A value in memory is lost when the router is closed.
        guard entry.domain.kind != .memory else { return true }
        if let collection = entry.collection { return try await write(record: collection) }
        return try await write(entry.opened)
    }

    /// Returns a sample of a type; nil if the type accepts neither the sample of its shape nor empty values.
    static func value<Value: Codable>(of type: Value.Type) -> Value? {
        let shape = AttributeType.of(type)
        if let sample = document(shape), let value = try? StoredDocument(sample).decode(type) { return value }
        guard let empty = AttributeType.emptyValue(of: type) else { return nil }
        guard case .compound(_, let attributes) = shape, var accepted = try? StoredDocument(encoding: empty) else { return empty }
        // Replace the empty properties one by one, and keep each sample that the type accepts.
        var value = empty
        for attribute in attributes {
            var next = accepted
            next[DocumentPath([.name(attribute.name)])] = document(attribute.type)
            if let sample = try? next.decode(type) { (accepted, value) = (next, sample) }
        }
        return value
    }

    /// Returns a sample of a shape; nil if nothing is known about the shape.
    private static func document(_ type: AttributeType) -> DocumentValue? {
        switch type {
        // A text that can be converted to most other types.
        case .string: "1"
        case .boolean: true
        case .integer: 1
        case .double, .decimal: 1.5
        case .date: .date(Date(timeIntervalSinceReferenceDate: 700_000_000))
        case .data: .data(Data("data".utf8))
        case .uuid: "00000000-0000-4000-8000-000000000001"
        case .array(let element): document(element).map { [$0] }
        case .dictionary(let element): document(element).map { .object(["name": $0]) }
        case .compound(_, let attributes):
            .object(
                attributes.reduce(into: [:]) { object, attribute in object[attribute.name] = document(attribute.type)
                })
        case .reference, .named: nil
        }
    }
}
