import BackendConformance
import BackendContract
import FolderStore
import Foundation
import LocalData
import Testing

/// Returns the path of a new folder for one store.
func emptyFolder() -> URL { FileManager.default.temporaryDirectory.appending(path: "folder-store-\(UUID().uuidString)") }

/// The setup for the conformance tests, which are called laws. `makeStore` creates a store in an empty folder, and
/// `reopen` creates a second store for the folder of an existing one.
let bench = LawBench(
    name: "folder", capabilities: ByteStoreBackend(FolderByteStore(emptyFolder())).capabilities, scale: 0.5,
    makeStore: { ByteStoreBackend(FolderByteStore(emptyFolder())) },
    reopen: { ByteStoreBackend(FolderByteStore(URL(filePath: $0.identity.store))) })

@Test(arguments: BackendLaw.all.filter { $0.applies(to: bench) })
func `the store passes every law that applies to its capabilities`(law: BackendLaw) async throws {
    try await law.verify(on: bench)
}

@Test func `a router uses the store as a domain`() async throws {
    let folder = emptyFolder()
    var configuration = StorageConfiguration.inMemory()
    configuration.useBackend(for: .init("folder")) { scope in ByteStoreBackend(FolderByteStore(folder.appending(path: scope))) }
    let city = StorageKey<String>(name: "city", domain: .custom("folder", scope: "weather"))
    try await StorageRouter(configuration: configuration).set("Linz", for: city)
    #expect(try await StorageRouter(configuration: configuration).get(city) == "Linz")
}
