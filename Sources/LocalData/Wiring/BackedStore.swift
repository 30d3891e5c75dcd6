import BackendContract
package import BackendRuntime
package import Sealing

/// A store of the program with its name in a backup, and the ways to copy and restore it.
package struct BackedStore: Sendable {
    /// The form of a store's data.
    package enum Form: Sendable {
        /// One file at a path.
        case file(String)
        /// A database file at a path. Its data can only be decrypted with a key of the source.
        case database(String, KeySourceReference, any KeyedBackupStore)
        /// Entries that are restored one by one.
        case items(any BackupItemStore)
    }

    /// The kind of passphrase files.
    package static let passphrase = OwnFiles.Kind.passphrase.rawValue

    /// The kind of store, by its name in a backup.
    package let kind: String
    /// The scope of the store within its kind; empty for a kind with a single store.
    package let scope: String
    package let store: any BackupStore
    package let form: Form
    /// Whether a restore keeps the existing store when its content differs from the backup.
    package var staysWhenOther = false

    /// The name of the store in the list of stores that a restore may replace: "encryptedSQLite(main)", "ledger".
    package var name: String { Self.name(kind, scope) }

    package static func name(_ kind: String, _ scope: String) -> String { scope.isEmpty ? kind : "\(kind)(\(scope))" }
}

/// The parts of a program that are needed to find its stores.
struct BackedProgram: Sendable {
    /// The domains whose keys the program has used, in this run or in earlier runs; each with its scope.
    let domains: Set<StorageDomain>
    /// The program's key sources.
    let references: [KeySourceReference]
    let configuration: StorageConfiguration

    /// The scopes of the domains of a kind.
    func scopes(of kind: StorageDomain.Kind) -> Set<String> { Set(domains.filter { $0.kind == kind }.compactMap(\.scope)) }

    /// The names of the files in a folder that have an ending, without that ending.
    func files(in directory: String, ending: String) async throws -> Set<String> {
        let (runtime, deadline) = (configuration.runtime, configuration.deadlines.files)
        let names = try await translatingErrors(key: directory) { () throws(BackendError) in
            try await runtime.makeLane("backup.list").run(
                clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false
            ) { (_) throws(BackendError) in
                do throws(FileError) { return try runtime.files.list(directory) ?? [] } catch { throw error.backendError() }
            }
        }
        return Set(names.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.map { String($0.dropLast(ending.count)) })
    }
}

/// A provider whose stores can be copied to a backup and restored.
protocol BackedProvider: Sendable {
    /// The kinds of stores, by their names in a backup. A name never changes its meaning.
    var backedKinds: [String] { get }

    /// The scopes of the program's stores of a kind.
    func scopes(ofBacked kind: String, in program: BackedProgram) async throws -> Set<String>

    /// The kind of the stores that a domain uses; nil if a backup may lack these stores.
    func expectedKind(of domain: StorageDomain, _ configuration: StorageConfiguration) -> String?

    /// The store that a name in a backup refers to in this configuration.
    /// - Throws: ``StorageError``: `invalidName`; `unavailable` for a store that this build does not have.
    func backedStore(_ kind: String, _ scope: String, _ configuration: StorageConfiguration) throws -> BackedStore

    /// Checks the content of a sealed store in a backup; nil for other kinds.
    func backupCheck(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)?
}

extension BackedProvider {
    /// Returns nil, because by default a store is not sealed as a whole.
    func backupCheck(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? { nil }
}

extension BackedStore {
    /// A store that is one file.
    /// - Parameters:
    ///   - lock: The store's lock file; nil where it has none.
    ///   - isDamage: Whether the file's bytes are damaged.
    static func file(
        _ kind: String, _ scope: String, at path: String, lock: String? = nil, staysWhenOther: Bool = false,
        _ configuration: StorageConfiguration, isDamage: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) -> BackedStore {
        let store = BackupFile(path: path, lock: lock, runtime: configuration.runtime, isDamage: isDamage)
        return BackedStore(kind: kind, scope: scope, store: store, form: .file(path), staysWhenOther: staysWhenOther)
    }
}
