import BackendContract
import BackendRuntime
import Crypto
import Foundation
import LocalData
import Sealing

/// Reads a whole backup. Verifies every encrypted chunk of the file, every digest and every row. Also verifies that the
/// keys in the backup open each database.
struct BackupVerifier {
    let path: String
    let opener: StreamOpener
    let runtime: Runtime
    let progress: (@Sendable (BackupProgress) -> Void)?

    /// The verified content of a backup.
    struct Content {
        /// The header of the file. A later reading of the same file can use it, and need not derive its key again.
        let header: StreamHeader
        var report: BackupReport
        var keys: [BackupSourceKeys] = []
        /// The verification results of the databases, by the store's name.
        var databases: [String: KeyedBackupContent] = [:]
    }

    /// Reads and verifies the backup.
    /// - Parameter take: Called with each part of each store after the part was authenticated.
    /// - Throws: `BackendError`: `corrupted`, `encryptionKeyMismatch`, `unsupported`; the errors of `take`.
    func run(_ take: (BackupManifest.Name, [UInt8]) async throws -> Void = { _, _ in }) async throws -> Content {
        let file = try await translating("backup", await SealedFileReader(path, opening: opener, for: .backup, runtime: runtime))
        guard case (.manifest, let bytes) = try await next(file) else { throw Self.malformed }
        let manifest: BackupManifest = try Self.decode(bytes)
        var content = Content(header: file.header, report: BackupReport(file.header, manifest))
        var remaining = manifest.stores[...]
        while true {
            if Task.isCancelled { throw StorageError.cancelled("backup") }
            var (entry, bytes) = try await next(file)
            defer { wipe(&bytes) }
            switch entry {
            case .key where content.report.stores.isEmpty:
                do throws(RecordDamage) { content.keys.append(try BackupSourceKeys(content: bytes)) } catch { throw Self.malformed }
            case .store:
                guard let name = remaining.popFirst(), try Self.name(bytes) == name else { throw Self.malformed }
                try await readStore(name, file, &content, count: manifest.stores.count, take)
            case .end:
                let end: BackupEnd = try Self.decode(bytes)
                guard remaining.isEmpty, file.isAtEnd, end.stores.count == content.report.stores.count,
                    zip(end.stores, content.report.stores).allSatisfy({
                        $0.kind == $1.kind && $0.scope == $1.scope && $0.digest == $1.digest && $0.bytes == $1.bytes
                            && $0.damaged == $1.isDamaged && $0.problem == $1.problem
                    })
                else { throw Self.malformed }
                for (index, store) in end.stores.enumerated() {
                    content.report.stores[index].isForeign = store.foreign
                    content.report.stores[index].isOlder = store.older
                }
                content.report.keys = content.keys.map(\.reference.description)
                return content
            default: throw Self.malformed
            }
        }
    }

    private func readStore(
        _ name: BackupManifest.Name, _ file: SealedFileReader, _ content: inout Content, count: Int,
        _ take: (BackupManifest.Name, [UInt8]) async throws -> Void
    ) async throws {
        var store = BackupReport.Store(kind: name.kind, scope: name.scope)
        var digest = BackupDigest()
        let before = content.report.stores.reduce(0) { $0 + $1.bytes }
        let check = try BackedStore.check(of: name.kind, keys: content.keys.flatMap(\.keys.all))
        while true {
            progress?(BackupProgress(store: store.name, done: content.report.stores.count, count: count, bytes: before + digest.bytes))
            var (entry, bytes) = try await next(file)
            defer { wipe(&bytes) }
            switch entry {
            case .part:
                digest.take(bytes)
                do throws(BackendError) { try check?.take(bytes) } catch { throw StorageError.from(error, key: store.name) }
                try await take(name, bytes)
            case .storeEnd:
                let end: BackupStoreEnd
                do throws(RecordDamage) { end = try BackupStoreEnd(bytes, of: digest) } catch { throw Self.malformed }
                store.bytes = digest.bytes
                store.digest = hexadecimalText(of: digest.digest)
                (store.isDamaged, store.problem) = (end.isDamaged, end.problem)
                // If a store could not be read completely, its parts cannot show whether its rows are complete. So skip
                // the check.
                if let check, end.problem == nil {
                    do throws(BackendError) {
                        let found = try check.finish()
                        guard found.isFile == end.isDamaged else { throw SealedFileReader.malformed }
                        content.databases[store.name] = found
                        store.damagedRows = found.isFile ? nil : found.damaged
                        store.hasProvenRows = found.isProven
                    } catch { throw StorageError.from(error, key: store.name) }
                }
                content.report.stores.append(store)
                return
            default: throw Self.malformed
            }
        }
    }

    private func next(_ file: SealedFileReader) async throws -> (BackupEntry, [UInt8]) {
        try await translatingErrors(key: "backup") { () throws(BackendError) in try await file.entry() }
    }

    private static func name(_ bytes: [UInt8]) throws -> BackupManifest.Name {
        var reader = ByteReader(bytes[...])
        do throws(RecordDamage) {
            let name = BackupManifest.Name(kind: try reader.text(), scope: try reader.text())
            guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
            return name
        } catch { throw malformed }
    }

    private static func decode<Value: Decodable>(_ bytes: [UInt8]) throws -> Value {
        do { return try JSONDecoder().decode(Value.self, from: Data(bytes)) } catch { throw malformed }
    }

    private static var malformed: any Error { StorageError.from(SealedFileReader.malformed, key: "backup") }
}
