// Finding rows and files that are older than the latest.

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

func verify(_ router: StorageRouter) async throws {
    // snippet.show
    let documents = StorageDomain.encryptedSQLite(database: "documents")
    if let report = try await router.verifyIntegrity(of: documents), !report.isSound { print(report) }
    // snippet.hide
    try await router.acceptOlderFile(of: documents)
}
