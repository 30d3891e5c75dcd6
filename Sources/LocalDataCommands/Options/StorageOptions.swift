import ArgumentParser
import LocalData

/// The options that select the storage of a command. The tool has options for every application (``PlaceOptions``), and a program that
/// mounts the commands has one storage (``MountedOptions``).
protocol StorageOptions: ParsableArguments {
    /// The words that start a command, for examples and advice: `localdata`.
    static var program: String { get }

    /// Whether to print one JSON value instead of text.
    var json: Bool { get }

    /// The id of the application that the options name; nil if they name none.
    var applicationID: String? { get }

    /// The catalogs of the program; nil in the tool, which has no keys of the program.
    var catalogs: [any StorageKeyCatalog]? { get }

    /// Returns the configuration of the selected storage.
    /// - Throws: `Refusal` if there is no such storage, `ValidationError` if the options do not select one, ``StorageError``.
    func configuration(for use: StorageUse) async throws -> StorageConfiguration

    /// Returns the ids of the applications to choose from, if the options select none; nil if they select one.
    func choices() throws -> [String]?

    /// Whether a passphrase opens the storage. No call can unlock it for a later one.
    var asksForPassphrase: Bool { get }

    /// Returns the domain whose state a command shows or changes.
    func stateDomain(of domain: StorageDomain) throws -> StorageDomain

    /// Returns advice for an error; nil if there is none.
    func advice(for error: StorageError) async -> String?

    /// Checks that the folder of a configuration belongs to its application, before everything in it is destroyed.
    /// - Throws: `Refusal` if nothing in the folder names the application.
    func requireNamed(_ configuration: StorageConfiguration) async throws
}

/// The way in which a command uses the storage.
struct StorageUse {
    /// How precisely the options must select an application.
    enum Selection: Comparable {
        /// They need not select one.
        case any
        /// They must select its files: by an id or a folder.
        case placed
        /// They must select its id.
        case identified
    }

    /// The effect of a command on the storage.
    enum Effect {
        /// It changes nothing.
        case reads
        /// It changes, creates or destroys data, which must belong to the application and to the user.
        case changes
        /// It gives data of another application to this one. The data must belong to the user.
        case adopts
    }

    /// The domains that the command uses.
    var domains: [StorageDomain] = []
    var selection = Selection.any
    var effect = Effect.reads
    /// Whether the command may create stores. Otherwise the application and the domains must exist.
    var creates = false
}

/// Runs work, and then the end of what it used, also if the work fails.
func ending<Answer>(_ end: () async throws -> Void, _ work: () async throws -> Answer) async throws -> Answer {
    do {
        let answer = try await work()
        try await end()
        return answer
    } catch {
        try? await end()
        throw error
    }
}

extension StorageOptions {
    func choices() throws -> [String]? { nil }

    var asksForPassphrase: Bool { false }

    func stateDomain(of domain: StorageDomain) throws -> StorageDomain { domain }

    func advice(for error: StorageError) async -> String? { nil }

    func requireNamed(_ configuration: StorageConfiguration) async throws {}

    /// Runs a command with a router for the selected storage, then shuts the router down. Reports errors.
    /// - Parameters:
    ///   - domains: The domains that the command uses. They must exist, unless it may create them.
    ///   - selection: How precisely the options must select an application.
    ///   - effect: What the command does to the storage.
    ///   - creates: Whether the command may create stores.
    ///   - isRemedy: Whether the command is the remedy that the advice for an error names.
    ///   - change: Changes the configuration.
    ///   - body: The command.
    func withRouter<Answer>(
        for domains: [StorageDomain] = [], selection: StorageUse.Selection = .any, effect: StorageUse.Effect = .reads,
        creates: Bool = false, isRemedy: Bool = false, changing change: (inout StorageConfiguration) -> Void = { _ in },
        _ body: (StorageRouter) async throws -> Answer
    ) async throws -> Answer {
        try await reporting(of: isRemedy || asksForPassphrase ? nil : domains.first) {
            var configuration = try await configuration(
                for: StorageUse(domains: domains, selection: selection, effect: effect, creates: creates))
            change(&configuration)
            if effect != .reads { try await FolderOwner(configuration).requireUser() }
            let router = StorageRouter(configuration: configuration)
            return try await ending({ try await router.shutdown() }) {
                for catalog in catalogs ?? [] { try await router.registerCatalog(catalog) }
                let known = KnownStores(router)
                if creates { try await known.refuseLost(domains) } else { try await known.require(domains) }
                return try await body(router)
            }
        }
    }

    /// Runs work, and reports its error on standard error.
    /// - Parameter domain: The domain that the work uses, for advice.
    /// - Throws: The error that sets the exit status.
    func reporting<Answer>(of domain: StorageDomain? = nil, _ body: () async throws -> Answer) async throws -> Answer {
        do { return try await body() } catch {
            let failure = Failure.exit(for: error, asJSON: json, command: Self.program, domain: domain)
            if !json, let error = error as? StorageError, let advice = await advice(for: error) { Failure.write(advice) }
            throw failure
        }
    }

    /// Returns the catalogs of the program.
    /// - Throws: `ValidationError` in the tool, which has none.
    func requireCatalogs(_ command: String) throws -> [any StorageKeyCatalog] {
        if let catalogs { return catalogs }
        throw ValidationError(
            "Only the program declares its keys and migrations. A program that mounts the commands has this one: myapp storage \(command)."
        )
    }
}
