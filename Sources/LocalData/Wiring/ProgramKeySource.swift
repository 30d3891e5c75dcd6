import BackendContract
import Sealing

/// Adapts a custom key source to the protocol of the library's key sources, under the name that is stored with sealed
/// data.
struct ProgramKeySource: KeySource {
    private let name: String
    private let source: any CustomKeySource

    /// Creates the key source for a custom key source with a name.
    /// - Throws: ``StorageError`` with `invalidName`. The name is stored in plain text beside the sealed data, where
    ///   one name is reserved for recovery keys.
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

    /// Nil: a key in memory is used without a time limit. The source is not asked again, because it may be a remote
    /// service. The only exception is the creation of a database.
    var trust: Duration? { nil }

    func unlock() async throws(BackendError) { try await calling { try await source.unlock() } }

    private func calling<R>(_ body: () async throws -> R) async throws(BackendError) -> R {
        do { return try await body() } catch let error as BackendError { throw error } catch is CancellationError {
            throw BackendError(.cancelled, "The caller was cancelled while \(identifier) was asked. Nothing was changed; try again.")
        } catch let error as StorageError {
            throw BackendError(BackendError.Code(error.code.name), error.message)
        } catch {
            // The program's error is not repeated, because it may contain data that the source sent or received.
            throw BackendError(
                .unavailable, "The \(identifier) failed (\(String(describing: type(of: error)))). Nothing was changed; try again.")
        }
    }
}
