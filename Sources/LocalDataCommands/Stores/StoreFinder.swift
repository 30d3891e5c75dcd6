import BackendContract
import BackendRuntime
import LocalData

/// Finds the stores of an application without its keys: in its folders, and in the ledger, which records every store that the application
/// wrote to.
struct StoreFinder: Sendable {
    let configuration: StorageConfiguration

    init(_ configuration: StorageConfiguration) { self.configuration = configuration }

    /// Whether the domain `.keychain` is stored in sealed vaults, which are files.
    var hasVaults: Bool { configuration.keychain != .session }

    /// Whether the domain `.keychain` is the keyring of the session.
    var hasKeyring: Bool { !configuration.isInMemory && !configuration.plugsIn(.keychain) && !hasVaults }

    /// Returns a domain with its scope.
    func scoped(_ domain: StorageDomain) -> StorageDomain { configuration.scoped(domain) }

    /// Whether the stores of a kind are files in the folders of the application.
    func areFiles(_ kind: StorageDomain.Kind) -> Bool {
        if configuration.isInMemory || configuration.plugsIn(kind) { return false }
        return kind == .userDefaults || kind == .encryptedSQLite || kind == .keychain && hasVaults
    }

    /// Whether a store that is recorded and has no file is lost. A property list without a file is empty.
    static func canBeLost(_ kind: StorageDomain.Kind) -> Bool { kind != .userDefaults }

    /// Returns the stores that have a file, of all programs that share the folders.
    /// - Throws: ``StorageError`` when a folder cannot be listed.
    func files() async throws -> Swift.Set<StorageDomain> {
        guard !configuration.isInMemory, let directories = try configuration.directories else { return [] }
        var found = Swift.Set(try await names(in: directories.preferences, ".plist").map { StorageDomain.userDefaults(suite: $0) })
        found.formUnion(try await names(in: "\(directories.data)/databases", ".sqlite").map { .encryptedSQLite(database: $0) })
        if hasVaults {
            let vaults = try await names(in: "\(directories.data)/vaults", ".sqlite")
            found.formUnion(vaults.map { .keychain(service: SealedVault.service(of: $0)) })
        }
        return found
    }

    /// Returns the stores that the ledger records: those that the application wrote to in earlier runs.
    /// - Throws: ``StorageError`` when the ledger cannot be read.
    func recorded() async throws -> Swift.Set<StorageDomain> {
        guard !configuration.isInMemory, try configuration.directories != nil else { return [] }
        // A separate router, because the router of the command counts registered keys as used.
        let router = StorageRouter(configuration: configuration)
        return try await ending({ try? await router.shutdown() }) { try await router.backing { $0.domains } }
    }

    /// Returns the keyring services that store the sealing keys of the application.
    func keyServices() -> Swift.Set<StorageDomain> {
        if configuration.isInMemory { return [] }
        let sources = [configuration.keySource] + configuration.otherKeySources
        return Swift.Set(
            sources.compactMap { source in
                guard case .keychain(let service, _) = source.form else { return nil }
                return StorageDomain.keychain(service: service ?? configuration.applicationID)
            })
    }

    /// Returns whether the application has a folder, so that it has stored something.
    func hasFolder() async throws -> Bool {
        guard let directories = try configuration.directories else { return configuration.isInMemory }
        for folder in [directories.data, directories.state] where try await list(folder) != nil { return true }
        return false
    }

    private func names(in folder: String, _ ending: String) async throws -> [String] {
        (try await list(folder) ?? []).filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }
    }

    /// Lists a folder; nil if it does not exist.
    private func list(_ folder: String) async throws -> [String]? {
        let (runtime, deadline) = (configuration.runtime, configuration.deadlines.files)
        return try await translatingErrors(key: folder) { () throws(BackendError) in
            try await runtime.makeLane("tool").run(
                clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false
            ) { (_) throws(BackendError) -> [String]? in
                do throws(FileError) { return try runtime.files.list(folder) } catch { throw error.backendError() }
            }
        }
    }
}
