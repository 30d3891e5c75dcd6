import BackendContract
import BackendRuntime
import DefaultsBackend

/// Copies property lists to backups and restores them. The scope is the name of the suite.
extension DefaultsProvider: BackedProvider {
    var backedKinds: [String] { [kind.name] }

    func scopes(ofBacked kind: String, in program: BackedProgram) async throws -> Set<String> {
        let configuration = program.configuration
        let directories = try configuration.requiredDirectories()
        let named = program.scopes(of: self.kind).union(configuration.ownsStandardList ? [configuration.userDefaultsName] : [])
        return directories.ownsPreferences ? named.union(try await program.files(in: directories.preferences, ending: ".plist")) : named
    }

    func expectedKind(of domain: StorageDomain, _ configuration: StorageConfiguration) -> String? { kind.name }

    func backedStore(_ kind: String, _ scope: String, _ configuration: StorageConfiguration) throws -> BackedStore {
        try Self.requireFileName(scope)
        return try Self.backedList(kind, scope, at: "\(try configuration.requiredDirectories().preferences)/\(scope).plist", configuration)
    }

    /// Returns the description of a property list at any path, for a backup or restore.
    static func backedList(_ kind: String, _ scope: String, at path: String, _ configuration: StorageConfiguration) throws -> BackedStore {
        let locks = try configuration.requiredDirectories().locks
        let lock = PropertyListStore.lockPath(forPropertyListAt: path, in: locks, files: configuration.runtime.files)
        return .file(kind, scope, at: path, lock: lock, configuration) { !PropertyListStore.isPropertyList($0) }
    }

    /// Throws if a scope is not a valid file name.
    static func requireFileName(_ scope: String) throws {
        do throws(BackendError) { try PropertyListStore.validateSuiteName(scope) } catch { throw StorageError.from(error, key: scope) }
    }
}
