import BackendContract
import Sealing

/// A key source of the program's own, under the name that its data keeps.
struct ProgramKeySource: KeySource {
    private let name: String
    private let source: any CustomKeySource

    /// - Throws: ``StorageError`` with `invalidName`: the name stands in plain text beside what the key sealed, and recovery keys have one of their own there.
    init(_ name: String, _ source: any CustomKeySource) throws {
        guard !name.isEmpty, name.utf8.count <= 200, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), name != RecoveryRecipient.source
        else {
            throw StorageError(
                StorageError.invalidName, key: name,
                "The name of a key source has 1 to 200 bytes without control characters, and is not \"\(RecoveryRecipient.source)\".")
        }
        self.name = name
        self.source = source
    }

    var identifier: String { "custom key source \(name)" }
    var pin: String { "custom \(name)" }
    var protection: ProtectionLevel { source.protection }

    func load() async throws(BackendError) -> SourceKeys? {
        try await calling {
            guard let current = try await source.load() else { return nil }
            return try SourceKeys(current.key, others: try await source.loadOthers().map(\.key))
        }
    }

    func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        let current = try await calling { try await source.create(SealingKeyMaterial(keys.current)).key }
        guard !keys.others.isEmpty, current.identity == keys.current.identity else { return SourceKeys(only: current) }
        try await replace(SourceKeys(only: current), with: keys)
        return keys
    }

    func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        try await calling {
            try await source.replace(
                SealingKeyMaterial(old.current), with: SealingKeyMaterial(new.current), others: new.others.map(SealingKeyMaterial.init))
        }
    }

    /// The source may be a service elsewhere: it is asked before a database is made.
    var trust: Duration? { nil }

    func unlock() async throws(BackendError) { try await calling { try await source.unlock() } }

    private func calling<R>(_ body: () async throws -> R) async throws(BackendError) -> R {
        do { return try await body() } catch let error as BackendError { throw error } catch is CancellationError {
            throw BackendError(.cancelled, "The caller was cancelled while \(identifier) was asked. Nothing was changed; try again.")
        } catch let error as StorageError {
            throw BackendError(BackendError.Code(error.code.name), error.message)
        } catch {
            // The program's error is not repeated: it may contain what it sent or received.
            throw BackendError(
                .unavailable, "The \(identifier) failed (\(String(describing: type(of: error)))). Nothing was changed; try again.")
        }
    }
}
