import BackendContract
import DefaultsBackend

/// The library's internal files that a backup contains: the ledger (notes about sweeps and stores), the recorded keys,
/// the history of migrations, the quarantine (values that a person must review), copies of damaged property lists, passphrase files, and the
/// names of imported values.
struct OwnFiles: BackedProvider {
    /// A kind of file. A backup identifies a file by its kind and its scope. The scope is a name that distinguishes the
    /// files of one kind. It is empty for a kind with a single file.
    enum Kind: String, CaseIterable {
        /// The migration ledger, a single file.
        case ledger
        /// The list of the keys that sources have, a single file. A backup also holds its lock, so that no key is replaced while
        /// the stores are captured.
        case pins
        /// The history of migrations, a single file.
        case history
        /// The quarantine, a single file.
        case quarantine
        /// A copy of a damaged property list. The scope is the file's name.
        case copy
        /// A passphrase file: keys, encrypted with a key that is derived from a passphrase. The scope is the name of
        /// the passphrase.
        case passphrase
        /// The names of the values that were imported from read-only sources, a single file. The record and the imported
        /// values belong together: without the record, a removed value would be imported again. With a newer record, a
        /// value that is not in the backup would count as imported.
        case imports
    }

    let backedKinds = Kind.allCases.map(\.rawValue)

    func scopes(ofBacked kind: String, in program: BackedProgram) async throws -> Set<String> {
        let data = try program.configuration.requiredDirectories().data
        switch Kind(rawValue: kind) {
        case .copy:
            return Set(try await program.files(in: "\(data)/quarantine", ending: ".plist").map { "\($0).plist" }).subtracting([
                Self.quarantine
            ])
        case .passphrase: return try await program.files(in: data, ending: ".passphrase")
        default: return [""]
        }
    }

    func expectedKind(of domain: StorageDomain, _ configuration: StorageConfiguration) -> String? { nil }

    func backedStore(_ kind: String, _ scope: String, _ configuration: StorageConfiguration) throws -> BackedStore {
        let directories = try configuration.requiredDirectories()
        switch Kind(rawValue: kind) {
        case .copy:
            try DefaultsProvider.requireFileName(scope)
            return .file(kind, scope, at: "\(directories.data)/quarantine/\(scope)", configuration)
        case .passphrase:
            try DefaultsProvider.requireFileName(scope)
            // A restore never replaces an existing passphrase file. It encrypts the data keys of the restored databases
            // with the existing key instead.
            return .file(kind, scope, at: "\(directories.data)/\(scope).passphrase", staysWhenOther: true, configuration)
        case .pins:
            let path = try Wiring.statePaths("pins.plist", configuration).file
            // A restore records the keys of the backup at its end.
            var list = try DefaultsProvider.backedList(kind, scope, at: path, configuration)
            list.staysWhenOther = true
            return list
        case .history:
            let paths = try Wiring.statePaths("history.log", configuration)
            // No value depends on the history, so a restore never replaces that of this machine.
            return .file(kind, scope, at: paths.file, lock: paths.lock, staysWhenOther: true, configuration)
        case .imports: return try DefaultsProvider.backedList(kind, scope, at: Wiring.importPath(directories), configuration)
        case .quarantine:
            return try DefaultsProvider.backedList(kind, scope, at: "\(directories.data)/quarantine/\(Self.quarantine)", configuration)
        default: return try DefaultsProvider.backedList(kind, scope, at: "\(directories.state)/ledger.plist", configuration)
        }
    }

    private static let quarantine = "quarantine.plist"
}
