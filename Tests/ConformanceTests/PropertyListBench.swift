import BackendConformance
import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport

extension LawBench {
    /// Each property list is in a separate folder. Other programs change the existing file instead of replacing it, as Foundation does.
    static let propertyList = LawBench(
        name: "property list", capabilities: propertyListStore(at: "/unused.plist").capabilities,
        makeStore: { propertyListStore(at: TemporaryDirectory.unendingFile("store.plist").path) },
        reopen: { propertyListStore(at: $0.identity.store) },
        writeForeign: { try change($1, to: $2, in: $0) },
        changeBehindMetadata: { try change($1, to: $2, in: $0) },
        corrupt: { store, _ in
            let file = URL(filePath: store.identity.store)
            let bytes = try Data(contentsOf: file)
            try bytes.prefix(bytes.count / 2).write(to: file)
        },
        findStrayTraces: { store in
            let file = URL(filePath: store.identity.store)
            let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
            return Set(names).isSubset(of: ["store.plist", "state"]) ? nil : "files beside the property list: \(names.count)"
        })
}

private func propertyListStore(at path: String) -> PropertyListStore {
    let folder = parentDirectory(of: path)
    return PropertyListStore(
        path: path, lockPath: folder + "/state/lock", quarantineDirectory: folder + "/state/quarantine", deadline: .seconds(60),
        runtime: .live)
}

/// Sets one entry and keeps all others, including the reserved dictionary, as `UserDefaults` does.
private func change(_ address: StorageAddress, to text: String, in store: any StorageBackend) throws {
    let file = URL(filePath: store.identity.store)
    var entries: [String: Any] = [:]
    if let bytes = try? Data(contentsOf: file) {
        entries = try PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any] ?? [:]
    }
    entries[address.name] = text
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0).write(to: file)
}
