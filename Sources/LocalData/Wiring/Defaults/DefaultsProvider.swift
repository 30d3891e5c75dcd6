import BackendContract
import BackendRuntime
import DefaultsBackend

/// The domain `.userDefaults`: one property list for each suite, as in `UserDefaults`.
struct DefaultsProvider: BackendProvider {
    let kind = StorageDomain.Kind.userDefaults
    let claims = BackendCapabilities(
        durability: .durable, atomicBatch: true, crossProcess: true, protection: .plain, storesNativeValues: true, sharedWithOthers: true,
        usefulConcurrency: 64)

    func validate(_ scope: String) throws(BackendError) { try PropertyListStore.validateSuiteName(scope) }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        let preferences = try parts.configuration.requiredDirectories().preferences
        return try Self.makeStore(at: try PropertyListStore.path(ofSuite: scope, in: preferences), parts.configuration)
    }

    /// Creates the store of a property list at any path: that of a suite, or one of the library's internal lists.
    /// - Parameter isPrivate: Whether it is an internal list. Other users must not be able to change such a list.
    static func makeStore(
        at path: String, isPrivate: Bool = false, _ configuration: StorageConfiguration
    ) throws -> any StorageBackend {
        let directories = try configuration.requiredDirectories()
        let lockPath = PropertyListStore.lockPath(forPropertyListAt: path, in: directories.locks, files: configuration.runtime.files)
        return PropertyListStore(
            path: path, lockPath: lockPath, quarantineDirectory: "\(directories.data)/quarantine",
            deadline: configuration.deadlines.files, runtime: configuration.runtime, isPrivate: isPrivate
        ) { [events = configuration.events] changes in
            if !changes.repeated.isEmpty {
                events.send(
                    .changesRepeated(changes.repeated.count),
                    "Another program overwrote changes of a property list with an older copy. The changes were written again.",
                    ["list": "\(changes.path)", "count": "\(changes.repeated.count)"])
            }
            if !changes.lost.isEmpty {
                events.send(
                    .changesLost(changes.lost.count),
                    "Another program overwrote changes of a property list with an older copy. The changes are lost.",
                    ["list": "\(changes.path)", "count": "\(changes.lost.count)"])
            }
        }
    }
}
