import BackendContract
import LocalData

/// The domain `.imported`: one source for each name.
struct ImportProvider: BackendProvider {
    let sources: [String: ImportSource]
    let kind = StorageDomain.Kind.imported
    let claims = ImportedStore.capabilities(.plain)

    func validate(_ scope: String) throws(BackendError) { try StorageAddress(scope).validate() }

    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? {
        sources[scope]?.reader(parts.configuration).protection
    }

    func withoutSessionKeyring() -> any BackendProvider {
        ImportProvider(
            sources: sources.mapValues { source in if case .keyringItems = source.form { .keyringItems([:]) } else { source } })
    }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        guard let source = sources[scope] else {
            return MissingBackend(
                for: .imported(scope), claims, "No import has the name \(scope). Set its source with StorageConfiguration.useImport.")
        }
        return ImportedStore(scope, source.reader(parts.configuration), imported: try Wiring.importStore(parts.configuration))
    }
}
