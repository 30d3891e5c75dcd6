import BackendContract
import BackendRuntime
import Foundation
import SQLiteBackend
import Sealing

/// Databases of sealed rows: those of the domain `.encryptedSQLite`, and the vaults that stand in for a keyring.
extension Wiring {
    /// Refuses what cannot be a database's name, also where nothing is on a disk.
    func validate(database name: String) throws(BackendError) {
        #if SQLite
            try SQLiteStore.validateName(name)
        #endif
    }

    func makeDatabase(_ name: String) throws -> any StorageBackend {
        let domain = StorageDomain.encryptedSQLite(database: name)
        let source = configuration.databaseKeySources[name] ?? .configured
        return try makeSealedStore(domain, name, folder: Self.databases, source: source, instead: ".encryptedSQLite")
    }

    /// The database that keeps a keyring's service for a program without a keyring.
    func makeVault(_ service: String, _ source: KeySourceReference) throws -> any StorageBackend {
        try makeSealedStore(
            .keychain(service: service), Self.vaultName(service), folder: Self.vaults, source: try vaultSource(source), instead: ".keychain"
        )
    }

    /// The source of a vault's key.
    /// - Throws: ``StorageError`` when that is the keyring, which the vault stands in for.
    func vaultSource(_ source: KeySourceReference) throws -> KeySourceReference {
        let reference = source == .configured ? configuration.keySource : source
        if case .keyring = reference.form {
            throw StorageError(
                StorageError.unavailable, key: "",
                "The key of the vault that stands in for the keyring cannot be in the keyring. Give sealedVault a key file, a credential or a passphrase."
            )
        }
        return reference
    }

    private static let databases = "databases"
    private static let vaults = "vaults"

    /// A service may be called anything; a database may not: what is not a plain character is escaped, as in a URL.
    private static func vaultName(_ service: String) -> String {
        var name = ""
        for byte in service.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !name.isEmpty: name += "."
            default: name += "_" + hexadecimalText(of: [byte])
            }
        }
        return "v-" + name
    }

    private func makeSealedStore(
        _ domain: StorageDomain, _ name: String, folder: String, source reference: KeySourceReference, instead: String
    ) throws -> any StorageBackend {
        #if SQLite
            let directories = try directories()
            let path = try SQLiteStore.path(ofDatabase: name, in: "\(directories.data)/\(folder)")
            let source = try keySource(reference)
            return SQLiteStore(
                path: path, lockPath: SQLiteStore.lockPath(forDatabaseAt: path, in: directories.locks, files: runtime.files),
                keys: try sealingKeys(),
                source: source, otherSealedIDs: { [self] () throws(BackendError) in try await sealedIDs(of: source) },
                deadline: configuration.deadlines.files, runtime: runtime)
        #else
            return MissingBackend(
                for: domain,
                "This build has no encrypted SQLite backend (trait SQLite). Plug one in with StorageConfiguration.use(for: \(instead)).")
        #endif
    }

    /// The ids of the keys that the program's databases were sealed with, as far as they were sealed with a key of this source: asked before a first key is made.
    func databaseKeyIDs(of source: any KeySource) async throws(BackendError) -> Set<[UInt8]> {
        #if SQLite
            if configuration.isInMemory { return [] }
            let directories: StorageDirectories
            do { directories = try self.directories() } catch let error as StorageError {
                throw BackendError(.unavailable, error.message)
            } catch { throw BackendError(.unavailable, "The configuration has no directories.") }
            var ids: Set<[UInt8]> = []
            for folder in [Self.databases, Self.vaults] {
                ids.formUnion(
                    try await SQLiteStore.sealingKeyIDs(
                        inDatabasesIn: "\(directories.data)/\(folder)", sealedFrom: source, locks: directories.locks,
                        deadline: configuration.deadlines.files, runtime: runtime))
            }
            return ids
        #else
            return []
        #endif
    }
}
