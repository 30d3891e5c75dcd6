import BackendContract
import BackendRuntime
import Sealing

/// Creates the freshness anchors of databases and vaults. An anchor records the latest state of a database outside of
/// its file. A vault is a database that replaces a keyring.
extension Wiring {
    func makeFreshnessAnchor(of database: StorageDomain) throws -> (any FreshnessAnchor)? {
        let name = database.scope ?? configuration.defaultScope(of: database.kind)
        let isVault = database.kind == .keychain
        guard let place = isVault ? configuration.vaultFreshnessAnchors[name] : configuration.freshnessAnchors[name] else { return nil }
        switch place.form {
        case .keychain where isVault:
            throw StorageError(
                StorageError.unavailable, key: name,
                "The freshness anchor of the vault that replaces the keyring cannot be in the keyring. Give vaultFreshnessAnchors a file or an anchor of your own. Nothing was opened."
            )
        case .own(let anchor): return anchor
        case .keychain(let service):
            let owner = configuration.sealingContext ?? configuration.applicationID
            return BackendAnchor(
                try makeKeyStore(.keychain, service ?? configuration.applicationID),
                address: StorageAddress("freshness of \(owner) \(name)"))
        case .file(let path):
            let directories = try configuration.requiredDirectories()
            let path = configuration.runtime.files.resolve(path.hasPrefix("/") ? path : "\(directories.data)/\(path)")
            return FileAnchor(
                path: path, lockPath: FileAnchor.lockPath(forAnchorAt: path, in: directories.locks),
                deadline: configuration.deadlines.files, runtime: configuration.runtime)
        }
    }
}
