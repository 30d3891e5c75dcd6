import BackendContract
import BackendRuntime
import Sealing

/// The freshness anchors of databases, by the form of their place.
extension Wiring {
    func makeFreshnessAnchor(ofDatabase name: String) throws -> (any FreshnessAnchor)? {
        guard let place = configuration.freshnessAnchors[name] else { return nil }
        switch place.form {
        case .own(let anchor): return anchor
        case .keyring(let service):
            let owner = configuration.sealingContext ?? configuration.applicationID
            return BackendAnchor(
                try makeKeyStore(service ?? configuration.applicationID), address: StorageAddress("freshness of \(owner) \(name)"))
        case .file(let path):
            let directories = try configuration.requiredDirectories()
            let path = configuration.runtime.files.resolve(path.hasPrefix("/") ? path : "\(directories.data)/\(path)")
            return FileAnchor(
                path: path, lockPath: FileAnchor.lockPath(forAnchorAt: path, in: directories.locks),
                deadline: configuration.deadlines.files, runtime: configuration.runtime)
        }
    }
}
