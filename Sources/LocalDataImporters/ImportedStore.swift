import BackendContract
import Crypto

/// A source that is only read, as a store from which values are moved.
///
/// A deletion does not change the source. It stores a mark in another store, under the name of the value. A value with a mark
/// counts as absent. The mark has no part of the value, so it reveals nothing if the source is later deleted.
/// Reason: "An import records names instead of deleting" in Docs/Decisions/Stores.md.
struct ImportedStore: StorageBackend {
    let identity: BackendIdentity
    let capabilities: BackendCapabilities
    private let reader: any ImportReader
    /// The store of the marks. Each import has a namespace.
    private let marks: any StorageBackend
    private let namespace: StorageNamespace

    /// Creates the store of an import.
    /// - Parameters:
    ///   - name: The name of the import.
    ///   - reader: The reader of its source.
    ///   - marks: The store of the marks.
    init(_ name: String, _ reader: any ImportReader, imported marks: any StorageBackend) {
        (self.reader, self.marks, namespace) = (reader, marks, StorageNamespace(name))
        identity = BackendIdentity(kind: "import", store: "\(name)=\(reader.location)")
        capabilities = Self.capabilities(reader.protection)
    }

    /// Returns the guarantees of an import. Those about changes hold for the marks.
    static func capabilities(_ protection: ProtectionLevel) -> BackendCapabilities {
        BackendCapabilities(
            durability: .durable, atomicBatch: true, crossProcess: true, protection: protection, storesNativeValues: true,
            sharedWithOthers: true, usefulConcurrency: 16)
    }

    // MARK: Reading

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        // A set of texts would merge names whose bytes differ.
        let names = Set(addresses.lazy.filter { $0.namespace == .values }).map(\.name)
        if names.isEmpty { return addresses.map { _ in .absent } }
        var probes: [StorageAddress: StorageProbe] = [:]
        var open: [String] = []
        for (name, mark) in zip(names, try await marks.read(names.map(mark(of:)), freshness)) {
            switch mark {
            case .absent: open.append(name)
            case .value, .tombstone: probes[StorageAddress(name)] = .absent
            case .locked: probes[StorageAddress(name)] = .locked
            case .unavailable(let error): probes[StorageAddress(name)] = .unavailable(error)
            case .corrupt: probes[StorageAddress(name)] = .unavailable(Self.damagedMark)
            }
        }
        if !open.isEmpty {
            for (name, probe) in zip(open, try await reader.read(open, freshness)) { probes[StorageAddress(name)] = probe }
        }
        return addresses.map { probes[$0] ?? .absent }
    }

    /// The error for a mark that cannot be read: the value may have been imported and removed.
    private static var damagedMark: BackendError {
        BackendError(
            .corrupted,
            "The record of imported values is damaged, so it is unknown whether this value was imported before. Restore imports.plist from a backup."
        )
    }

    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        guard namespace == .values else { return [] }
        let imported = Set(try await marks.addresses(in: self.namespace))
        return try await reader.names().filter { !imported.contains(mark(of: $0)) }.map { StorageAddress($0) }
    }

    /// Returns the address of the mark of a value. A property list has only names in Unicode normal form C, and a source may
    /// have others. So a name that is not ASCII, or that begins with `%`, is replaced by its SHA-256.
    private func mark(of name: String) -> StorageAddress {
        let isPlain = name.utf8.allSatisfy { $0 < 0x80 } && name.utf8.first != UInt8(ascii: "%")
        return StorageAddress(isPlain ? name : "%" + hexadecimalText(of: SHA256.hash(data: Array(name.utf8))), in: namespace)
    }

    func status() async -> BackendStatus { await reader.status() }

    // MARK: Marking

    /// Marks the values that mutations delete. All other changes are refused.
    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        try mutations.requireDistinctAddresses()
        let probes = Dictionary(zip(mutations.map(\.address), try await read(mutations.map(\.address), .fresh))) { $1 }
        let refusal = mutations.refused { mutation in
            switch mutation.operation {
            case .put, .tombstone: .failed(Self.readOnly)
            case .delete, .check: (probes[mutation.address] ?? .absent).refusal(of: mutation)
            }
        }
        if let refusal { return refusal }
        let deleted = mutations.filter { $0.operation == .delete && probes[$0.address] ?? .absent != .absent }.map(\.address)
        var durability = StorageDurability.durable
        if !deleted.isEmpty {
            let marked = try await marks.apply(
                deleted.map { .put(.native(.boolean(true)), at: mark(of: $0.name), if: .absent) })
            if let failed = zip(deleted, marked).first(where: { !$1.isApplied && $1 != .notAttempted }) {
                return mutations.map { $0.address == failed.0 ? Self.result(ofMark: failed.1) : .notAttempted }
            }
            for case .applied(_, let reached) in marked { durability = min(durability, reached) }
        }
        return mutations.map { .applied($0.operation == .check ? probes[$0.address]?.revision : nil, durability) }
    }

    /// Returns the result of a deletion whose mark could not be stored. If another process has stored the mark, the value is now
    /// absent.
    private static func result(ofMark result: MutationResult) -> MutationResult {
        if case .conflict = result { .conflict(.absent) } else { result }
    }

    private static var readOnly: BackendError {
        BackendError(.unsupported, "An import is only read. Store the value with a key of another domain. Nothing was changed.")
    }

    func synchronize() async throws(BackendError) -> StorageDurability { try await marks.synchronize() }

    func close() async { await marks.close() }
}
