import BackendConformance
import BackendContract
import FolderStore
import Foundation
import LocalData
import Testing

/// A folder that no other test uses.
func emptyFolder() -> URL { FileManager.default.temporaryDirectory.appending(path: "folder-store-\(UUID().uuidString)") }

/// The setup for the conformance tests, which are called laws. It creates stores in empty folders, and opens further
/// stores on the same folder.
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
