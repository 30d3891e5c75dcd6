import BackendContract
import BackendRuntime
import Sealing

/// Destroys the stores of a configuration: the keys of databases first of all, then files and keyring items.
///
/// A file is overwritten with zeros, flushed and removed, together with SQLite's log beside it. So the encrypted data keys
/// of a database, in its table `wraps` and in its log, are gone even if the disk keeps the removed file. A disk or file
/// system that writes changed data elsewhere, and a copy of the file, still have them.
struct StoreDestruction: Sendable {
    let configuration: StorageConfiguration
    /// Further domains that the program has used or registered, each with its scope, for a mark that does not record them.
    let known: Set<StorageDomain>
    /// The key sources of the program.
    let references: [KeySourceReference]

    private var runtime: Runtime { configuration.runtime }

    /// Destroys the stores of a mark, and then removes the mark. If the process is killed, another call continues.
    func run(_ mark: ForgetMark, _ directories: StorageDirectories) async throws {
        let stores = try await stores(of: mark)
        var ofFiles: [BackedStore] = []
        for store in stores {
            guard case .items(let service) = store.form else {
                ofFiles.append(store)
                continue
            }
            try await removeItems(of: service, store.scope, withKeys: mark.domains == nil)
            // A restore keeps the items that it replaces in another service, if their format is that of another program.
            if service.keptService != store.scope,
                let provider = Wiring.backedProviders.first(where: { $0.backedKinds.contains(store.kind) }),
                case .items(let kept) = try provider.backedStore(store.kind, service.keptService, configuration).form
            {
                try await removeItems(of: kept, service.keptService, withKeys: mark.domains == nil)
            }
        }
        let deadline = runtime.clock.now.advanced(by: max(configuration.deadlines.files, configuration.deadlines.keychain))
        let locks = try await translating("forget", await StoreLocks(ofFiles.map(\.store), deadline: deadline, runtime: runtime))
        defer { locks.release() }
        try await onLane { [files = runtime.files, ofFiles] () throws(FileError) in
            for store in ofFiles {
                switch store.form {
                case .file(let path): try Self.destroy(Self.copies(of: path, files) + [path], files)
                case .database(let path, _, _):
                    try Self.destroy(Self.copies(of: path, files) + Self.databaseFiles.map { path + $0 }, files)
                case .items: break
                }
            }
            if mark.domains == nil {
                for folder in [directories.data, directories.state] {
                    try Self.destroyFiles(
                        below: folder, except: [ForgetMark.path(directories), Wiring.importPath(directories)], files)
                }
                if let caches = directories.caches { try Self.destroyCaches(in: caches, files) }
            } else {
                // A value that was forgotten must not count as lost. The next read of any other value records it again.
                try Self.destroy([Wiring.witnessPath(directories)], files)
            }
            try files.remove(ForgetMark.path(directories))
            if try files.status(directories.data) != nil { try files.synchronizeDirectory(directories.data) }
        }
    }

    // MARK: Stores

    /// Throws if a keyring of the mark cannot be read now. Otherwise the mark would keep all stores closed until it can.
    func requireKeyrings(of mark: ForgetMark) async throws {
        for store in try await stores(of: mark) {
            guard case .items(let service) = store.form else { continue }
            let deadline = runtime.clock.now.advanced(by: configuration.deadlines.keychain)
            try await translatingErrors(key: store.name) { () throws(BackendError) in _ = try await service.items(deadline: deadline) }
        }
    }

    /// Returns the stores of a mark that backups contain, too. Caches and other files are not among them.
    func stores(of mark: ForgetMark) async throws -> [BackedStore] {
        guard let domains = mark.domains else {
            var stores: [BackedStore] = []
            let program = BackedProgram(domains: known.union(mark.recorded ?? []), references: references, configuration: configuration)
            for provider in Wiring.backedProviders {
                // The names of imported values stay, so that forgotten values are not imported again.
                for kind in provider.backedKinds where kind != BackedStore.imports {
                    for scope in try await provider.scopes(ofBacked: kind, in: program) {
                        stores.append(try provider.backedStore(kind, scope, configuration))
                    }
                }
            }
            return stores
        }
        return try domains.compactMap { domain in
            try (configuration.provider(of: domain.kind) as? any BackedProvider)?.backedStore(of: domain, configuration)
        }
    }

    // MARK: Keyring items

    /// Removes the items of a service. A sealing key stays if other domains may need it.
    private func removeItems(of service: any BackupItemStore, _ scope: String, withKeys: Bool) async throws {
        let deadline = configuration.deadlines.keychain
        try await translatingErrors(key: scope) { () throws(BackendError) in
            guard let backend = service as? any StorageBackend else { return }
            for item in try await service.items(deadline: runtime.clock.now.advanced(by: deadline)) {
                let address = StorageAddress(item.name, in: item.namespace.isEmpty ? .values : StorageNamespace(item.namespace))
                if !withKeys {
                    switch try await backend.read(address, .fresh) {
                    case .value(let record) where SealingKey.begins(record.payload): continue
                    case .corrupt(let corruption) where SealingKey.begins(.bytes(corruption.bytes)): continue
                    default: break
                    }
                }
                try await backend.deleteAnything(at: address)
            }
        }
    }

    // MARK: Files

    /// The ends of the names of a database's files.
    private static let databaseFiles = ["", "-wal", "-journal", "-shm"]

    /// Returns the files that restores and killed processes left beside a store: copies of it that a restore replaced, its
    /// drafts, and temporary files. See "What grows" in Docs/Formats.md.
    private static func copies(of path: String, _ files: any FileSystem) throws(FileError) -> [String] {
        var copies: [String] = []
        for store in Set([path, files.resolve(path)]).sorted() {
            let (folder, name) = (parentDirectory(of: store), lastComponent(of: store))
            let beginnings = [
                ("\(name).replaced-", ""), (".\(name).localdata-", ".tmp"), (".\(name).copy-", ".tmp"), (".\(name).restore-", ""),
            ]
            for found in try files.list(folder) ?? [] {
                let isCopy = beginnings.contains { prefix, suffix in
                    guard found.hasPrefix(prefix) else { return false }
                    let rest = found.dropFirst(prefix.count)
                    return bytes(ofHexadecimal: rest.prefix(16))?.count == 8
                        && databaseFiles.contains { rest.dropFirst(16) == suffix + $0 }
                }
                if isCopy { copies.append("\(folder)/\(found)") }
            }
        }
        return copies
    }

    /// Destroys files of a store. A symbolic link is followed, as the store does, and removed too.
    private static func destroy(_ paths: [String], _ files: any FileSystem) throws(FileError) {
        for path in paths {
            let target = files.resolve(path)
            if try files.status(target)?.isRegular == true { try files.overwriteWithZeros(target) }
            for name in [target, path] {
                try files.remove(name)
                let folder = parentDirectory(of: name)
                if try files.status(folder) != nil { try files.synchronizeDirectory(folder) }
            }
        }
    }

    /// Destroys the files in a folder of the library. Of a symbolic link, only the link is removed: its target may belong
    /// to another program.
    private static func destroyFiles(below folder: String, except kept: Set<String>, _ files: any FileSystem) throws(FileError) {
        let resolved = files.resolve(folder)
        for name in try files.list(folder) ?? [] {
            let path = "\(folder)/\(name)"
            guard let status = try files.status(path), !kept.contains(path) else { continue }
            if files.resolve(path) != "\(resolved)/\(name)" {
                try files.remove(path)
            } else if status.isDirectory {
                try destroyFiles(below: path, except: kept, files)
            } else {
                try destroy([path], files)
            }
        }
    }

    /// Destroys the databases in the folder of the caches. Subfolders stay. Of a symbolic link, only the link is removed: its
    /// target may belong to another program.
    private static func destroyCaches(in folder: String, _ files: any FileSystem) throws(FileError) {
        let resolved = files.resolve(folder)
        // The files of a database have its name as a part of theirs.
        for name in try files.list(folder) ?? [] where name.contains(".sqlite") {
            let path = "\(folder)/\(name)"
            if files.resolve(path) != "\(resolved)/\(name)" {
                try files.remove(path)
            } else if try files.status(path)?.isDirectory != true {
                try destroy([path], files)
            }
        }
    }

    private func onLane(_ work: @escaping @Sendable () throws(FileError) -> Void) async throws {
        try await translatingErrors(key: "forget") { () throws(BackendError) in
            // The time grows with the size of the files.
            try await runtime.onLane("forget", within: .seconds(3600), isMutation: true) { () throws(BackendError) in
                do throws(FileError) { try work() } catch { throw error.backendError(outcome: .unknown) }
            }
        }
    }
}
