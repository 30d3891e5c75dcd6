import BackendContract
package import BackendRuntime
package import Sealing

/// A store of the program, with its name in a backup and the functions that copy and restore it.
package struct BackedStore: Sendable {
    /// The form in which a store's data is copied and restored.
    package enum Form: Sendable {
        /// One file at a path.
        case file(String)
        /// A database file at a path. Its data can only be decrypted with a key of the given key source.
        case database(String, KeySourceReference, any KeyedBackupStore)
        /// Entries, such as keyring items, which are restored one by one.
        case items(any BackupItemStore)
    }

    /// The name in a backup for the kind of store that is a passphrase file.
    package static let passphrase = OwnFiles.Kind.passphrase.rawValue

    /// The name in a backup for the list of imported values.
    package static let imports = OwnFiles.Kind.imports.rawValue

    /// The kind of store, as a backup names it.
    package let kind: String
    /// The scope: the name of the store within its kind, such as a database; empty for a kind with a single store.
    package let scope: String
    package let store: any BackupStore
    package let form: Form
    /// Whether a restore silently keeps the existing store when its content differs from the backup. For other stores,
    /// such a difference is an error, unless the caller names the store as one to replace.
    package var staysWhenOther = false

    /// The name of the store in the list of stores that a restore may replace: "encryptedSQLite(main)", "ledger".
    package var name: String { Self.name(kind, scope) }

    package static func name(_ kind: String, _ scope: String) -> String { scope.isEmpty ? kind : "\(kind)(\(scope))" }
}

/// The domains and key sources of a program, from which its stores are found.
package struct BackedProgram: Sendable {
    /// The domains whose keys the program has used, in this run or in earlier runs. Each domain states its scope.
    let domains: Set<StorageDomain>
    /// The program's key sources.
    let references: [KeySourceReference]
    let configuration: StorageConfiguration

    package init(domains: Set<StorageDomain>, references: [KeySourceReference], configuration: StorageConfiguration) {
        (self.domains, self.references, self.configuration) = (domains, references, configuration)
    }

    /// Returns the scopes of the domains of a given kind.
    func scopes(of kind: StorageDomain.Kind) -> Set<String> { Set(domains.filter { $0.kind == kind }.compactMap(\.scope)) }

    /// Returns the names of the files in a folder that end in a given text, such as `.plist`. The returned names do not
    /// contain this ending.
    func files(in directory: String, ending: String) async throws -> Set<String> {
        let lane = FileLane("backup.list", within: configuration.deadlines.files, configuration.runtime)
        let names = try await translatingErrors(key: directory) { () throws(BackendError) in
            try await lane.run(isMutation: false) { (files) throws(FileError) in try files.list(directory) ?? [] }
        }
        return Set(names.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.map { String($0.dropLast(ending.count)) })
    }
}

/// A provider whose stores can be copied to a backup and restored.
package protocol BackedProvider: Sendable {
    /// The kinds of stores of this provider, by their names in a backup. A name never changes its meaning.
    var backedKinds: [String] { get }

    /// Returns the scopes of the program's stores of a given kind.
    func scopes(ofBacked kind: String, in program: BackedProgram) async throws -> Set<String>

    /// Returns the kind of the stores that a backup must contain for a domain; nil if it need not contain them.
    func expectedKind(of domain: StorageDomain, _ configuration: StorageConfiguration) -> String?

    /// Returns the store of this configuration that has the kind and the scope of a store in a backup.
    /// - Throws: ``StorageError``: `invalidName`; `unavailable` for a store that this build does not have.
    func backedStore(_ kind: String, _ scope: String, _ configuration: StorageConfiguration) throws -> BackedStore

    /// Returns the store of a domain.
    /// - Throws: ``StorageError``: `invalidName`; `unavailable` for a store that this build does not have.
    func backedStore(of domain: StorageDomain, _ configuration: StorageConfiguration) throws -> BackedStore

    /// Returns the check for the contents of sealed stores in a backup; nil for kinds of stores that are not sealed as
    /// a whole.
    func backupCheck(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)?
}

extension BackedProvider {
    /// Returns the store whose kind is that of the domain.
    func backedStore(of domain: StorageDomain, _ configuration: StorageConfiguration) throws -> BackedStore {
        try backedStore(domain.kind.name, domain.scope ?? configuration.defaultScope(of: domain.kind), configuration)
    }

    /// Returns nil, because by default a store is not sealed as a whole.
    func backupCheck(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? { nil }
}

extension BackedStore {
    /// Returns the description of a store that is one file.
    /// - Parameters:
    ///   - lock: The store's lock file; nil if it has none.
    ///   - isDamage: Returns whether bytes of the file are damaged.
    static func file(
        _ kind: String, _ scope: String, at path: String, lock: String? = nil, staysWhenOther: Bool = false,
        _ configuration: StorageConfiguration, isDamage: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) -> BackedStore {
        let store = BackupFile(path: path, lock: lock, runtime: configuration.runtime, isDamage: isDamage)
        return BackedStore(kind: kind, scope: scope, store: store, form: .file(path), staysWhenOther: staysWhenOther)
    }
}
