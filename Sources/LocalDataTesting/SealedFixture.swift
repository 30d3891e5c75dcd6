import Foundation
import LocalData

/// The sealed part of a fixture. It is a folder with a property list of sealed values and the key file that opens them.
struct SealedFixture {
    /// The folder in the fixture. It is copied before it is opened.
    let place: URL

    /// Reads the keyring's content and the expected values of protected keys. Both are empty if nothing was sealed.
    func read() async throws -> (keyring: [String: GoldenKeyring.Service], values: GoldenStore.Values) {
        guard FileManager.default.fileExists(atPath: place.path) else { return ([:], [:]) }
        return try await FixtureFolder.withTemporary { temporary in
            let copy = temporary.appending(path: "sealed")
            try FixtureFolder.copyPrivately(place, to: copy)
            return try await Self.withRouter(StorageConfiguration(root: copy, applicationID: "golden")) { router in
                (try await router.value(for: Self.keyring) ?? [:], try await router.value(for: Self.values) ?? [:])
            }
        }
    }

    /// Writes the keyring's content and the expected values.
    ///
    /// Unchanged content is not written, because sealing it again would change the file.
    func write(keyring: [String: GoldenKeyring.Service], values: GoldenStore.Values) async throws {
        let known = try await read()
        if known.keyring == keyring, known.values == values { return }
        try await FixtureFolder.withTemporary { temporary in
            let copy = temporary.appending(path: "sealed")
            if FileManager.default.fileExists(atPath: place.path) {
                try FixtureFolder.copyPrivately(place, to: copy)
            } else {
                try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
            }
            try await Self.withRouter(StorageConfiguration(root: copy, applicationID: "golden")) { router in
                if known.keyring != keyring { try await router.set(keyring, for: Self.keyring) }
                if known.values != values { try await router.set(values, for: Self.values) }
            }
            try FixtureFolder.removeMachineFiles(in: copy)
            try? FileManager.default.removeItem(at: place)
            try FileManager.default.copyItem(at: copy, to: place)
        }
    }

    static func withRouter<R>(_ configuration: StorageConfiguration, _ body: (StorageRouter) async throws -> R) async throws -> R {
        let router = StorageRouter(configuration: configuration)
        do {
            let answer = try await body(router)
            try await router.shutdown()
            return answer
        } catch {
            try? await router.shutdown()
            throw error
        }
    }

    private static let keyring: StorageKey<[String: GoldenKeyring.Service]> = key("keyring", "The keyring's records, by service")
    private static let values: StorageKey<GoldenStore.Values> = key("expected", "The expected values of protected keys")

    private static func key<Value>(_ name: String, _ description: String) -> StorageKey<Value> {
        StorageKey(
            name: name, domain: .userDefaults(suite: "sealed"), security: .encrypted, serializer: .plist, owner: "LocalDataTesting",
            description: description)
    }
}
