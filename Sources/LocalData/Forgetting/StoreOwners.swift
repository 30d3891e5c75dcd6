import BackendContract
import BackendRuntime
import Sealing

/// A store or file that a call destroys, with its owner.
package struct ForgottenStore: Hashable, Sendable {
    /// The name of the store, such as `encryptedSQLite(main)`; nil for another file.
    package let name: String?
    /// The path of the file; nil for a keyring service.
    package let path: String?
    /// The application that the store belongs to; nil for a keyring service that is not the program's own.
    package let application: String?
    /// The user ID of the owner.
    package let user: UInt32
}

/// Checks that stores belong to the program: to its application and to its user.
///
/// A forgotten database needs no key, and no other check compares the application of a program with that of a property list or a key file.
/// So without this, a program with a wrong application id or folder would destroy the stores of another one.
/// Reason: "Forgetting asks for the owner, which needs no key" in Docs/Decisions/Stores.md.
struct StoreOwners: Sendable {
    let configuration: StorageConfiguration
    let ledger: MigrationLedger

    private var runtime: Runtime { configuration.runtime }
    /// The application that seals include.
    private var own: String { configuration.sealedApplication }

    /// Throws if any of the stores and files of a mark belongs to another application or user.
    /// - Parameters:
    ///   - stores: The stores of the mark.
    ///   - mark: What is destroyed.
    ///   - directories: The folders of the configuration.
    ///   - isResumed: Whether the mark was read from the disk. A database may then be overwritten in part. If the mark names an
    ///     application, that application has checked the stores, so only the users are checked.
    /// - Returns: The stores and files that will be destroyed, sorted by name and path.
    /// - Throws: ``StorageError``: `wrongContext` for a store of another application, `untrusted` for a file of another user, `corrupted` for
    ///   a damaged database whose application is unknown.
    @discardableResult
    func requireOwn(
        _ stores: [BackedStore], of mark: ForgetMark, _ directories: StorageDirectories, isResumed: Bool = false
    ) async throws -> [ForgottenStore] {
        var found: [ForgottenStore] = []
        let isChecked = isResumed && mark.application != nil
        let caches = mark.domains == nil ? try await CacheProvider.stores(configuration) : []
        for store in stores + caches {
            switch store.form {
            case .items:
                found.append(
                    ForgottenStore(
                        name: store.name, path: nil, application: store.scope == configuration.applicationID ? own : nil,
                        user: runtime.files.trustedOwners.user))
            case .file(let path): found += try await files([path], store.name)
            case .database(let path, _, let database):
                let owner = try await translatingErrors(key: store.name) { () throws(BackendError) in
                    try await database.owner(deadline: runtime.clock.now.advanced(by: configuration.deadlines.files))
                }
                guard let owner else { continue }
                // A cache may be deleted at any time, so a damaged one needs no owner.
                let mayBeUnknown = isResumed || store.kind == StorageDomain.Kind.cache.name
                if !isChecked { try await requireOwn(owner, of: store, at: path, mayBeUnknown: mayBeUnknown) }
                found += try await files(["", "-wal"].map { path + $0 }, store.name)
            }
        }
        if mark.domains == nil {
            let listed = Set(found.compactMap(\.path).map(runtime.files.resolve))
            found += try await files(try await rest(directories), nil).filter { !listed.contains(runtime.files.resolve($0.path ?? "")) }
        } else {
            // The mark is written into this folder.
            try await requireOwned([directories.data])
        }
        return Set(found).sorted { ($0.name ?? "~", $0.path ?? "") < ($1.name ?? "~", $1.path ?? "") }
    }

    // MARK: Users

    /// Checks the owners of files, and returns those that exist.
    private func files(_ paths: [String], _ name: String?) async throws -> [ForgottenStore] {
        let (files, own) = (runtime.files, own)
        return try await onLane { () throws(BackendError) in
            try files.requireOwned(paths)
            var found: [ForgottenStore] = []
            for path in paths {
                do throws(FileError) {
                    guard let status = try files.status(path), !status.isDirectory else { continue }
                    found.append(ForgottenStore(name: name, path: path, application: own, user: status.owner))
                } catch { throw error.backendError() }
            }
            return found
        }
    }

    private func requireOwned(_ paths: [String]) async throws { _ = try await files(paths, nil) }

    /// Returns the paths of everything that is destroyed with the folders of the program. Only the name of a symbolic link is destroyed.
    private func rest(_ directories: StorageDirectories) async throws -> [String] {
        let files = runtime.files
        let kept: Set = [ForgetMark.path(directories), Wiring.importPath(directories)]
        return try await onLane { () throws(BackendError) in
            var found: [String] = []
            var open = [directories.data, directories.state]
            do throws(FileError) {
                while let folder = open.popLast() {
                    found.append(folder)
                    let resolved = files.resolve(folder)
                    for name in try files.list(folder) ?? [] {
                        let path = "\(folder)/\(name)"
                        guard let status = try files.status(path), files.resolve(path) == "\(resolved)/\(name)", !kept.contains(path) else {
                            continue
                        }
                        if status.isDirectory { open.append(path) } else { found.append(path) }
                    }
                }
            } catch { throw error.backendError() }
            return found
        }
    }

    private func onLane<R: Sendable>(_ work: @escaping @Sendable () throws(BackendError) -> R) async throws -> R {
        try await translatingErrors(key: "forget") { () throws(BackendError) in
            try await runtime.onLane("forget.owners", within: configuration.deadlines.files, work)
        }
    }

    // MARK: Applications

    private func requireOwn(_ owner: StoreOwner, of store: BackedStore, at path: String, mayBeUnknown: Bool) async throws {
        if owner.applications == [own] { return }
        if let other = owner.applications.subtracting([own]).sorted().first {
            throw StorageError(
                StorageError.wrongContext, key: store.name,
                "\(store.name) belongs to the application \"\(other)\", and this program is \"\(own)\". Use the id and the folder of that application. A database that was copied here belongs to this application after StorageRouter.adopt(_:from:application:). Nothing was changed."
            )
        }
        if mayBeUnknown { return }
        if try await isRecordedAsOwn(store) { return }
        throw StorageError(
            StorageError.corrupted, key: store.name,
            "\(store.name) is damaged, so its application is unknown, and nothing else here shows that it belongs to \"\(own)\". If it does, remove the file \(path) and repeat the call. Nothing was changed."
        )
    }

    /// Returns whether a damaged database probably belongs to this program: other notes name only this application.
    private func isRecordedAsOwn(_ store: BackedStore) async throws -> Bool {
        await ledger.flush()
        let named = await configuration.ownersOfDatabases().union((try? await ledger.owners()) ?? [])
        if !named.isEmpty { return named == [own] }
        // In the folders of a session, the name of the folder is the application id.
        if try configuration.directories?.data.hasSuffix("/\(configuration.applicationID)/LocalData") == true { return true }
        // The ledger of an earlier release of the library does not name the application.
        let domains = (try? await ledger.domains()) ?? []
        return domains.contains { domain in
            let provider = configuration.provider(of: domain.kind) as? any BackedProvider
            return (try? provider?.backedStore(of: domain, configuration))?.name == store.name
        }
    }
}

extension StorageConfiguration {
    /// Returns the ids of the applications that own stores in the folders: those that databases name, those that the ledger records, and the
    /// one that forgets its stores now. The names are not verified, so use them only in messages, and against mistakes.
    package func ownersOfStores() async -> Set<String> {
        var found = await ownersOfDatabases()
        guard !isInMemory, let directories = try? directories else { return found }
        let ledger = Wiring.ledger(self, isRestoring: true)
        found.formUnion((try? await ledger.owners()) ?? [])
        await ledger.close()
        if let mark = try? ForgetMark.read(directories, runtime.files), let application = mark.application { found.insert(application) }
        return found
    }
}
