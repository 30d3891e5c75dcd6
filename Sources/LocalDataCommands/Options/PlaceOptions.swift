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
        if [root, service, appID].contains("") { throw ValidationError("--root, --service and --app-id must not be empty.") }
        if let service, service.contains("/") || service.hasPrefix(".") { throw ValidationError("\(service) is no name of a service.") }
    }

    var asksForPassphrase: Bool {
        if case .passphrase = key.keySource?.reference.form { return true }
        return key.passphrase
    }

    /// The domain whose state a command shows or changes. The lock of the keyring does not depend on an application.
    func stateDomain(of domain: StorageDomain) throws -> StorageDomain {
        try domain == .keychain && !key.vault && choices() != nil ? .keychain(service: Self.unnamed) : domain
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

    /// Throws if the folder belongs to other applications than the one that the options name.
    /// - Parameter demandsName: Whether something in the folder must name the application.
    /// - Throws: `Refusal` with the status 78.
    private func requireOwner(_ id: String, of folder: String, demandsName: Bool = false) async throws {
        let owners = try await configuration().ownersOfStores().sorted()
        if owners.contains(id) || owners.isEmpty && !demandsName { return }
        let message =
            owners.isEmpty
            ? "Nothing in \(folder) names its application, so it may belong to another one than \(id). Name its stores one by one."
            : "\(folder) belongs to the application \(owners.joined(separator: " and ")), not to \(id): --app-id \(owners[0])."
        throw Refusal(status: .wrongKey, code: "wrongContext", name: folder, message: "\(message) Nothing was changed.")
    }

    func requireNamed(_ configuration: StorageConfiguration) async throws {
        // In a session, the name of the folder is the application id.
        if let folder = try folder() { try await requireOwner(configuration.applicationID, of: folder, demandsName: true) }
    }

    /// Returns the ids of the applications that own the databases in this storage. The files contain the ids without a proof. An id that
    /// is not the owner's opens nothing, because the seals include it.
    private func owners() async -> [String] {
        guard let configuration = try? configuration() else { return [] }
        let named = await configuration.ownersOfDatabases()
        return await (named.isEmpty ? configuration.ownersOfStores() : named).sorted()
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
        guard choices.isEmpty else { throw ValidationError("Name the application: \(choices)") }
        guard let folder else { throw ValidationError("Name the application: --app-id ID, --service NAME or --root FOLDER.") }
        // A folder that this user may not read is a denied access, not an unknown application.
        for path in [folder, "\(folder)/data", "\(folder)/data/databases"] where FileManager.default.fileExists(atPath: path) {
            if access(path, R_OK | X_OK) != 0 {
                throw Refusal(status: .refused, code: "accessDenied", name: path, message: "This user may not read the folder \(path).")
            }
        }
        throw ValidationError("Name the application with --app-id ID: no database in \(folder) shows its application.")
    }

    // MARK: The configuration

    func configuration(for use: StorageUse) async throws -> StorageConfiguration {
        for domain in use.domains where !DomainArgument.kinds.contains(domain.kind) {
            throw ValidationError("\(domain.text) is no domain of this tool. A domain is \(DomainArgument.help.abstract)")
        }
        let folder = try folder()
        if use.effect != .reads { try await FolderOwner(try configuration()).requireUser() }
        if let folder, !use.creates { try requireFolder(folder) }
        if use.effect == .changes, let folder, let applicationID { try await requireOwner(applicationID, of: folder) }
        var selection = use.selection
        // Databases and sealed values are bound to an application id.
        // With another id, the tool and the program would reject each other's data.
        if key.vault || use.domains.contains(where: { $0.kind == .encryptedSQLite || $0 == .keychain }) { selection = .identified }
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
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), !isFolder.boolValue {
            throw Refusal(status: .unknownName, code: "unknownApplication", name: folder, message: "\(folder) is a file, not a folder.")
        }
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
        configuration.ownsStandardList = false
        configuration.recordsOwner = applicationID != Self.unnamed || self.applicationID != nil
        return configuration
    }

    func advice(for error: StorageError) async -> String? {
        guard error.code == .wrongContext, let id = await owners().first else { return nil }
        if id == applicationID || applicationID == nil {
            return "If its file was moved or renamed, bind it to its new place: \(Self.program) keys adopt DOMAIN --from OLD-DOMAIN"
        }
        return "The database belongs to the application \(id): --app-id \(id)"
    }
}
