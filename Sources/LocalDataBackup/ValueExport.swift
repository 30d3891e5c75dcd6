import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Sealing
import Synchronization

/// Converts stored values to lines of an export, and lines to stored values.
struct ValueExport {
    let router: StorageRouter

    private func domain(_ domain: StorageDomain) -> String { "\(router.configuration.scoped(domain))" }

    // MARK: Writing

    /// Writes every value and record of the given entries.
    func write(_ entries: [AnyStorageKey], _ write: ([UInt8]) async throws -> Void) async throws -> ExportReport {
        var report = ExportReport()
        try await write(
            try ExportCoding.line(ExportStart(format: ExportStart.format, application: router.configuration.applicationID), "export"))
        for entry in entries {
            if let collection = entry.collection {
                try await self.write(collection, &report, write)
            } else {
                try await self.write(entry.opened, &report, write)
            }
        }
        try await write(try ExportCoding.line(ExportEnd(lines: report.written.count), "export"))
        return report
    }

    private func write<Key: OpenedKey>(_ opened: Key, _ report: inout ExportReport, _ write: ([UInt8]) async throws -> Void) async throws {
        let key = opened.typed
        // Reading the value migrates it from a legacy location or an earlier version.
        guard try await router.value(for: key) != nil, let stored = try await router.storedValue(for: key), !stored.isExpired
        else { return }
        let line = ExportLine(
            domain: domain(key.domain), name: key.name, value: stored.value, kind: Self.kind(stored.value),
            attributes: Self.attributes(stored.attributes), expires: stored.expiresAt?.timeIntervalSince1970)
        var bytes = try ExportCoding.line(line, key.name)
        defer { wipe(&bytes) }
        try await write(bytes)
        report.written.append(key.name)
    }

    private func write<Collection: TypedCollection>(
        _ collection: Collection, _ report: inout ExportReport, _ write: ([UInt8]) async throws -> Void
    ) async throws {
        let typed = collection.typed
        let damaged = Mutex<[String]>([])
        let records = router.storedRecords(
            in: typed,
            onDamage: .report { record, reason in
                damaged.withLock { $0.append("\(typed.name)/\(record.name ?? "?"): \(reason.message)") }
            })
        for try await stored in records where !stored.isExpired {
            let line = ExportLine(
                domain: domain(typed.domain), collection: typed.name, name: stored.id, value: stored.value,
                attributes: Self.attributes(stored.attributes), expires: stored.expiresAt?.timeIntervalSince1970)
            var bytes = try ExportCoding.line(line, stored.id)
            defer { wipe(&bytes) }
            try await write(bytes)
            report.written.append("\(typed.name)/\(stored.id)")
        }
        report.damaged += damaged.withLock(\.self)
    }

    private static func kind(_ value: Any) -> String? {
        if value is Data { return ExportLineHead.bytes }
        if case .data = value as? DocumentValue { return ExportLineHead.bytes }
        return nil
    }

    private static func attributes(_ attributes: [String: String]) -> [String: String]? { attributes.isEmpty ? nil : attributes }

    // MARK: Storing

    /// Stores the value of a line, if one of the entries is its key or collection.
    /// - Returns: The outcome; nil if no entry matches the line.
    func store(_ line: [UInt8], _ head: ExportLineHead, _ entries: [AnyStorageKey], replacing: Bool) async throws -> ImportOutcome? {
        for entry in entries where domain(entry.domain) == head.domain {
            if let collection = entry.collection {
                if let outcome = try await store(line, head, collection, replacing) { return outcome }
            } else if head.collection == nil, entry.name == head.name {
                return try await store(line, head, entry.opened, replacing)
            }
        }
        return nil
    }

    private func store<Collection: TypedCollection>(
        _ line: [UInt8], _ head: ExportLineHead, _ collection: Collection, _ replacing: Bool
    ) async throws -> ImportOutcome? {
        guard head.collection == collection.typed.name else { return nil }
        return try await store(line, collection.typed.key(head.name), replacing)
    }

    private func store<Key: OpenedKey>(
        _ line: [UInt8], _ head: ExportLineHead, _ opened: Key, _ replacing: Bool
    ) async throws -> ImportOutcome {
        // A key for any value stores bytes as a key for bytes does.
        if head.kind == ExportLineHead.bytes, let key = opened.typed as? StorageKey<DocumentValue> {
            return try await store(line, AnyStorageKey.key(Self.key(key, for: Data.self)).opened, replacing)
        }
        return try await store(line, opened, replacing)
    }

    /// Returns a key of another type for the slot of a key.
    private static func key<Value, Other>(_ key: StorageKey<Value>, for type: Other.Type) -> StorageKey<Other> {
        StorageKey(name: key.name, domain: key.domain, security: key.security, owner: key.owner, description: key.description)
    }

    /// Stores a value of another program. Bytes and dates are stored as a key of their type stores them.
    func store(_ document: DocumentValue, _ key: StorageKey<DocumentValue>, replacing: Bool) async throws -> ImportOutcome {
        switch document {
        case .data(let bytes): try await store(bytes, Self.key(key, for: Data.self), [:], nil, replacing)
        case .date(let date): try await store(date, Self.key(key, for: Date.self), [:], nil, replacing)
        default: try await store(document, key, [:], nil, replacing)
        }
    }

    private func store<Key: OpenedKey>(_ line: [UInt8], _ opened: Key, _ replacing: Bool) async throws -> ImportOutcome {
        let line = try ExportCoding.decode(ExportLine<Key.Value>.self, line)
        let left = line.expires.map { $0 - router.configuration.runtime.clock.wallSeconds }
        if let left, left <= 0 { return .expired }
        // A longer time is no time of an export, and `Duration` cannot represent every number.
        if let left, left > 1e15 { throw ExportCoding.damaged }
        return try await store(line.value, opened.typed, line.attributes ?? [:], left, replacing)
    }

    /// - Parameter left: The time until the value expires, in seconds; nil for the key's lifetime.
    private func store<Value>(
        _ new: Value, _ key: StorageKey<Value>, _ attributes: [String: String], _ left: Double?, _ replacing: Bool
    ) async throws -> ImportOutcome {
        let name = key.name
        let wanted = try ExportCoding.line(new, name)
        do {
            return try await router.update(key, attributes: attributes, lifetime: left.map { .seconds($0) }) { value in
                let present = value
                value = new
                guard let present else { return .added }
                if try ExportCoding.line(present, name) == wanted { throw Left(outcome: .unchanged) }
                guard replacing else { throw Left(outcome: .kept) }
                return .replaced
            }
        } catch let left as Left { return left.outcome }
    }

    /// Thrown inside an update to leave the stored value unchanged.
    /// Reason: "An import does not overwrite values by default" in Docs/Decisions/Backups.md.
    private struct Left: Error {
        let outcome: ImportOutcome
    }
}

/// Splits bytes into lines.
struct LineSplitter {
    private var rest: [UInt8] = []

    /// Adds bytes, and returns the lines that are now complete.
    mutating func take(_ bytes: [UInt8]) -> [[UInt8]] {
        rest += bytes
        var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        rest = lines.removeLast()
        return lines
    }

    var isAtEnd: Bool { rest.isEmpty }
}
