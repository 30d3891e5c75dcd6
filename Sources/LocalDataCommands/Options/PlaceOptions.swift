import ArgumentParser
import BackendRuntime
import Foundation
import LocalData

/// The options of the tool that select the storage to work on.
struct PlaceOptions: StorageOptions {
    static var program: String { "localdata" }

    /// The application id of the tool for storage of which no application is named, such as a property list of the session.
    static let unnamed = "localdata"

    @Option(
        help: """
            The application id: databases and sealed values belong to it, and it is the default keyring service. Default: \
            LOCALDATA_APP_ID, or the only application in the folder.
            """)
    var appID: String?

    @Option(help: "The systemd service whose state folder has the data: the name of its unit.")
    var service: String?

    @Option(
        help: "The folder of a program that keeps everything in one: STATE_DIRECTORY/LocalData. Default: the folders of the session.",
        completion: .directory)
    var root: String?

    @Flag(help: JSONHelp.text) var json = false

    @OptionGroup(title: "Key source")
    var key: KeyOptions

    var catalogs: [any StorageKeyCatalog]? { nil }

    func validate() throws {
        if root != nil, service != nil { throw ValidationError("Give one folder: --service or --root.") }
    }

    // MARK: The application

    /// The application id that the command line or the environment names; nil if neither does.
    var applicationID: String? { appID ?? systemEnvironmentVariable("LOCALDATA_APP_ID") }

    /// The folder of the application; nil for the folders of the session.
    private func folder() throws -> String? {
        if let root { return URL(fileURLWithPath: root).standardizedFileURL.path }
        return try service.map { try ServiceFolder.path(of: $0, host: .current()) }
    }

    func choices() throws -> [String]? {
        try applicationID == nil && folder() == nil ? SessionApplications.ids() : nil
    }

    /// Returns the ids of the applications that own the databases in this storage. The files contain the ids without a proof. An id that
    /// is not the owner's opens nothing, because the seals include it.
    private func owners() async -> [String] {
        guard let configuration = try? configuration() else { return [] }
        return await configuration.ownersOfDatabases().sorted()
    }

    /// Returns the id of the application.
    /// - Throws: `ValidationError` with the ids to choose from, if the command needs an id and the options select none.
    private func selectedID(_ selection: StorageUse.Selection, in folder: String?) async throws -> String? {
        if let applicationID { return applicationID }
        guard selection > .any else { return nil }
        let found = folder == nil ? try SessionApplications.ids() : await owners()
        if folder != nil, found.count == 1 { return found[0] }
        if folder != nil, selection == .placed { return nil }
        let choices = found.map { "--app-id \($0)" }.joined(separator: " or ")
        throw ValidationError("Name the application: \(choices.isEmpty ? "--app-id ID, --service NAME or --root FOLDER." : choices)")
    }

    // MARK: The configuration

    func configuration(for use: StorageUse) async throws -> StorageConfiguration {
        for domain in use.domains where !DomainArgument.kinds.contains(domain.kind) {
            throw ValidationError("\(domain.text) is no domain of this tool. A domain is \(DomainArgument.help.abstract)")
        }
        let folder = try folder()
        if let folder, !use.creates { try requireFolder(folder) }
        var selection = use.selection
        // Databases and sealed values are bound to an application id.
        // With another id, the tool and the program would reject each other's data.
        if key.vault || use.domains.contains(where: { $0.kind == .encryptedSQLite }) { selection = .identified }
        let id = try await selectedID(selection, in: folder)
        if let id, folder == nil, !use.creates, selection > .any {
            let known = try SessionApplications.ids()
            if !known.contains(id) { throw Refusal.unknownApplication(id, known: known) }
        }
        return try configuration(applicationID: id ?? Self.unnamed)
    }

    private func requireFolder(_ folder: String) throws {
        func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
        let isParent = exists("\(folder)/LocalData") && !exists("\(folder)/data")
        if exists(folder), !isParent { return }
        throw Refusal(
            status: .unknownName, code: "unknownApplication", name: folder,
            message: isParent
                ? "No store was found in \(folder). A service keeps its stores in the folder LocalData: --root \(folder)/LocalData"
                : "There is no folder \(folder).")
    }

    /// Returns the configuration for the selected storage, without checks.
    func configuration() throws -> StorageConfiguration { try configuration(applicationID: applicationID ?? Self.unnamed) }

    private func configuration(applicationID: String) throws -> StorageConfiguration {
        var configuration: StorageConfiguration =
            try folder().map { StorageConfiguration(root: URL(fileURLWithPath: $0), applicationID: applicationID) }
            ?? .xdg(applicationID: applicationID)
        try key.apply(to: &configuration)
        return configuration
    }

    func advice(for error: StorageError) async -> String? {
        guard error.code == .wrongContext, let id = await owners().first, id != applicationID else { return nil }
        return "The database belongs to the application \(id): --app-id \(id)"
    }
}
