package import BackendContract
package import BackendRuntime

/// The values of one suite, in one property list, at the path and in the format that Foundation's `UserDefaults` uses on Linux.
///
/// Other programs can read the values, and values that they wrote are read unchanged. The metadata of a value is kept in a reserved
/// dictionary, and is used only while it matches the value. Every change is one durable replacement of the file under an advisory lock; changes
/// that wait together share one. A read is served from memory after one `stat`, and goes to the store's lane only when the file has changed.
///
/// A damaged file is copied to the quarantine directory, reported, and never overwritten.
package final class PropertyListStore: ObservableBackend, RecoverableBackend, ImmediateBackend {
    /// The file, with every symbolic link resolved when the store was created.
    package let identity: BackendIdentity

    /// What the store promises: durable atomic batches, preconditions between processes, native values, and that others write too.
    package let capabilities: BackendCapabilities

    /// The largest value, in bytes, metadata included.
    package static let maximumValueSize = 16 << 20

    let file: PropertyListFile
    let lane: any Lane
    private let deadline: Duration
    private let runtime: Runtime
    private let loads: GroupCommit<Bool, PropertyListSnapshot>
    private let commits: GroupCommit<[StorageMutation], [MutationResult]>
    private let flushes: GroupCommit<Void, Void>

    /// Whether bytes are the content of a property list, even of one that this library does not support.
    package static func isPropertyList(_ bytes: [UInt8]) -> Bool { PropertyListFile.isPropertyList(bytes) }

    /// Creates a store. Nothing is opened and nothing is created; that happens when it is first used.
    /// - Parameters:
    ///   - path: The property list.
    ///   - lockPath: The file whose lock excludes other processes: the same for every process that writes this property list, in a directory of state
    ///     (see ``lockPath(forPropertyListAt:in:files:)``). It is created when first needed, and never removed.
    ///   - quarantineDirectory: The directory for copies of damaged files.
    ///   - deadline: How long a call may wait, and how long its work may show no progress.
    ///   - runtime: The machine.
    ///   - protection: How well the file is protected; plain, unless the layer above seals what it stores.
    ///   - isPrivate: Whether the file is refused when another user can change it or a folder above it, which is checked when it is opened.
    ///   - report: Is told of changes that another program has overwritten, on the store's lane.
    package init(
        path: String, lockPath: String, quarantineDirectory: String, deadline: Duration, runtime: Runtime,
        protection: ProtectionLevel = .plain, isPrivate: Bool = false, report: @escaping @Sendable (OverwrittenChanges) -> Void = { _ in }
    ) {
        identity = BackendIdentity(kind: "property-list", store: runtime.files.resolve(path))
        capabilities = BackendCapabilities(
            durability: .durable, atomicBatch: true, crossProcess: true, protection: protection, maximumValueSize: Self.maximumValueSize,
            storesNativeValues: true, sharedWithOthers: true, usefulConcurrency: 1_024)
        let file = PropertyListFile(
            path: path, lockPath: lockPath, quarantineDirectory: quarantineDirectory, isPrivate: isPrivate, runtime: runtime,
            report: report)
        let lane = runtime.makeLane("defaults.\(Self.suiteName(ofPath: path))")
        self.file = file
        self.lane = lane
        self.deadline = deadline
        self.runtime = runtime
        loads = GroupCommit(lane: lane, clock: runtime.clock) { requests, deadline, _ in
            // One read of the file answers all requests that came before it.
            let result = Result { () throws(BackendError) in try file.load(rereading: requests.contains(true), deadline: deadline) }
            return requests.map { _ in result }
        }
        commits = GroupCommit(
            lane: lane, clock: runtime.clock, maximumWeight: 16_384, weight: { $0.count }, hold: file.locked,
            perform: file.commit)
        flushes = GroupCommit(lane: lane, clock: runtime.clock, hold: file.locked) { requests, _, _ in
            let result = Result { () throws(BackendError) in try file.flush() }
            return requests.map { result }
        }
    }

    // MARK: Reading

    /// Looks at slots. A validated look is served from memory after one `stat` while the file is unchanged; a fresh one reads the file again.
    /// - Throws: ``BackendError`` with `timedOut` or `cancelled`; other problems of the file are reported in the probes.
    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        do throws(BackendError) {
            let snapshot = try await snapshot(freshness)
            return addresses.map { address in
                let probe = snapshot.probe(address)
                // A name that cannot be used is not absent. One that another program uses is read all the same.
                guard probe == .absent else { return probe }
                do throws(BackendError) { try Self.validate(address) } catch { return .unavailable(error) }
                return .absent
            }
        } catch {
            if error.code == .timedOut || error.code == .cancelled { throw error }
            return addresses.map { _ in .unavailable(error) }
        }
    }

    /// What a slot holds, from memory after one `stat`; nil when the file was changed, or is due for its second look.
    package func immediateProbe(of address: StorageAddress) -> StorageProbe? {
        guard let probe = (try? unchangedSnapshot())?.probe(address) else { return nil }
        // A name that cannot be used is not absent.
        if case .absent = probe, (try? Self.validate(address)) == nil { return nil }
        return probe
    }

    /// The slots that are not empty, including those of other programs.
    /// - Throws: ``BackendError`` when the file is damaged or cannot be read.
    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        let snapshot = try await snapshot(.validated)
        switch snapshot.content {
        case .document(let document): return document.slots.map(\.address).filter { $0.namespace == namespace }
        case .unsupported(let error): throw error
        case .damaged(let reason): throw file.damage(reason)
        }
    }

    /// Whether the file can be read, or does not exist yet: then the first change creates it.
    package func validate(_ address: StorageAddress) throws(BackendError) { try Self.validate(address) }

    /// Whether the file can be read.
    package func status() async -> BackendStatus {
        do throws(BackendError) {
            switch try await snapshot(.validated).content {
            case .document: return .ready
            case .unsupported(let error): return .unavailable(error)
            case .damaged(let reason): return .unavailable(file.damage(reason))
            }
        } catch {
            return .unavailable(error)
        }
    }

    /// The state of the file: from memory where that is enough, after one `stat`; else from the lane.
    private func snapshot(_ freshness: ReadFreshness) async throws(BackendError) -> PropertyListSnapshot {
        if freshness == .validated, let known = try unchangedSnapshot() { return known }
        // A validated read comes here when the file has changed, or is due for its second look.
        return try await load(rereading: true)
    }

    /// The snapshot in memory, if one `stat` shows that it is the file's state.
    private func unchangedSnapshot() throws(BackendError) -> PropertyListSnapshot? {
        guard let known = file.lastSnapshot else { return nil }
        // The snapshot first, the status second: the other way round, a status from before a write would be compared with the snapshot after it.
        do throws(FileError) {
            return known.isCurrent(try runtime.files.status(file.path), at: runtime.clock.now) ? known : nil
        } catch {
            throw error.backendError()
        }
    }

    func load(rereading: Bool) async throws(BackendError) -> PropertyListSnapshot {
        let deadline = nextDeadline
        let snapshot = try await loads.submit(rereading, deadline: deadline, isMutation: false)
        guard file.withRecentChanges({ !$0.overwritten.isEmpty }) else { return snapshot }
        // A call that changes nothing makes the overwritten changes again.
        _ = try await commits.submit([], deadline: deadline, isMutation: false)
        return try await loads.submit(false, deadline: deadline, isMutation: false)
    }

    // MARK: Writing

    /// Changes slots, all together or not at all. When this returns, applied changes are in the file and survive a power cut.
    ///
    /// Calls that wait at the same time share one lock, one rewrite and one flush; each stays a batch of its own.
    /// - Throws: ``BackendError`` with `timedOut` or `cancelled`; its outcome says whether anything may have happened.
    package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        guard !mutations.isEmpty else { return [] }
        try mutations.requireDistinctAddresses()
        if let refusal = refusal(of: mutations) { return refusal }
        do throws(BackendError) {
            return try await commits.submit(mutations, deadline: nextDeadline, isMutation: true)
        } catch {
            // A deadline ends the call; any other error is the result of each mutation.
            if error.code == .timedOut || error.code == .cancelled { throw error }
            return mutations.map { _ in .failed(error) }
        }
    }

    /// The errors of a call that do not depend on the content of the store; checked before the lock is taken.
    private func refusal(of mutations: [StorageMutation]) -> [MutationResult]? {
        mutations.refused { mutation in
            do throws(BackendError) {
                try Self.validate(mutation)
                try capabilities.requireFit(mutation.byteCount, in: "a property list")
                return nil
            } catch {
                return .failed(error)
            }
        }
    }

    /// Flushes the file and its directory to the disk, under the lock. Calls that wait at the same time share one flush.
    /// - Throws: ``BackendError``.
    package func synchronize() async throws(BackendError) -> StorageDurability {
        try await flushes.submit((), deadline: nextDeadline, isMutation: false)
        return .durable
    }

    /// Removes a damaged file, durably, after making a durable copy of it in the quarantine directory.
    /// - Returns: The path of the copy.
    /// - Throws: ``BackendError`` when the file is not damaged, or could not be copied or removed.
    package func setAsideDamagedStore() async throws(BackendError) -> String {
        let file = file
        return try await onLane(isMutation: true) { (deadline) throws(BackendError) in
            try file.locked(deadline: deadline) { () throws(BackendError) in try file.setAside(deadline: deadline) }
        }
    }

    /// Closes the file and drops what was read of it; the next call reads it again.
    package func close() async { file.close() }

    // MARK: The lane

    private var nextDeadline: MonotonicInstant { runtime.deadline(after: deadline) }

    func onLane<Response: Sendable>(
        isMutation: Bool, _ work: @escaping @Sendable (MonotonicInstant) throws(BackendError) -> Response
    ) async throws(BackendError) -> Response {
        try await lane.run(clock: runtime.clock, deadline: nextDeadline, isMutation: isMutation) { call throws(BackendError) in
            try work(call.deadline)
        }
    }
}
