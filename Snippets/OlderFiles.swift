// Detecting that rows of a database, or its whole file, were replaced by an older state.

// snippet.hide
import LocalData
import LocalDataBackup

func anchor(_ configuration: StorageConfiguration) {
    var configuration = configuration
    // snippet.show
    configuration.freshnessAnchors["documents"] = .keychain()  // or .file("/mnt/other-disk/documents.anchor"), or one of your own
    // snippet.hide
    _ = configuration
}

func verify(_ storage: StorageRouter) async throws {
    // snippet.show
    let documents = StorageDomain.encryptedSQLite(database: "documents")
    if let report = try await storage.verifyIntegrity(of: documents), !report.isSound { print(report) }
    // snippet.hide
    try await storage.acceptOlderFile(of: documents)
}
