package import BackendContract
package import BackendRuntime

/// The values of one suite, a named set of defaults, in one property list. The path and the format of the list are
/// those of Foundation's `UserDefaults` on Linux.
///
/// Other programs can read the values. Values that they wrote are read unchanged. The metadata of a value is in a
/// reserved dictionary, and is used only while it matches the value.
///
/// Every change replaces the file durably, under an advisory lock. Changes that wait at the same time share one
/// replacement. A read calls `stat` once and gets its result from memory, unless the file may have changed. In that
/// case the file is read on the store's lane (a serial queue for blocking work).
///
/// A damaged file is copied to the quarantine directory, reported, and never overwritten.
package final class PropertyListStore: ObservableBackend, RecoverableBackend, ImmediateBackend {
    /// The path of the file, with every symbolic link resolved when the store was created.
    package let identity: BackendIdentity

    /// The guarantees of the store. The changes of one call are durable, and either all of them are made or none is. A
    /// precondition also takes changes by other processes into account. Values can be stored as property-list types,
    /// such as strings and numbers, which other programs can read. Other programs may write the file too.
    package let capabilities: BackendCapabilities

    /// The maximum size of a value in bytes, including its metadata.
    package static let maximumValueSize = 16 << 20

    let file: PropertyListFile
    let lane: any Lane
    private let deadline: Duration
    private let runtime: Runtime
    private let loads: GroupCommit<Bool, PropertyListSnapshot>
    private let commits: GroupCommit<[StorageMutation], [MutationResult]>
    private let flushes: GroupCommit<Void, Void>

    /// Returns whether bytes are a property list, including one that this library does not support.
    package static func isPropertyList(_ bytes: [UInt8]) -> Bool { PropertyListFile.isPropertyList(bytes) }

    /// Creates a store. The file is opened or created when the store is first used.
    /// - Parameters:
    ///   - path: The path of the property list.
    ///   - lockPath: The lock file that excludes other processes. Every process that writes this property list must
    ///     use the same lock file, in a directory for state (see ``lockPath(forPropertyListAt:in:files:)``). The lock
    ///     file is created when it is first needed, and never removed.
    ///   - quarantineDirectory: The directory for copies of damaged files.
    ///   - deadline: How long a call may wait, and how long its work may show no progress.
    ///   - runtime: The clock, the files and the lanes.
    ///   - protection: The protection level of the file: plain, unless a layer above encrypts what it stores.
    ///   - isPrivate: Whether to refuse the file if another user can change it or a folder above it. This is checked
    ///     when the file is opened.
    ///   - report: Called on the store's lane after another program has overwritten changes of this store.
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
        (self.file, self.lane, self.deadline, self.runtime) = (file, lane, deadline, runtime)
        loads = GroupCommit(lane: lane, clock: runtime.clock) { requests, deadline, _ in
            // One read of the file answers all requests that arrived before it.
            let result = Result { () throws(BackendError) in try file.load(rereading: requests.contains(true), deadline: deadline) }
            return requests.map { _ in result }
        }
        // Reason: "A large call is a group alone" in Docs/Decisions/LocksAndCommits.md.
        commits = GroupCommit(
            lane: lane, clock: runtime.clock, maximumWeight: 16_384, weight: { $0.count }, hold: file.locked,
            perform: file.commit)
        flushes = GroupCommit(lane: lane, clock: runtime.clock, hold: file.locked) { requests, _, _ in
            let result = Result { () throws(BackendError) in try file.flush() }
            return requests.map { result }
        }
    }

    // MARK: Reading

    /// Reads slots, the locations of single values. With the freshness `validated`, a read calls `stat` and gets the
    /// results from memory while the file is unchanged. With `fresh`, it reads the file again.
    /// - Throws: ``BackendError`` with `timedOut` or `cancelled`. Other errors are reported in the probes.
    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        do throws(BackendError) {
            let snapshot = try await snapshot(freshness)
            return addresses.map { address in
                let probe = snapshot.probe(address)
                // Report an invalid name as an error, not as absent. But if another program stored a value under such
                // a name, return the value.
                guard probe == .absent else { return probe }
                do throws(BackendError) { try Self.validate(address) } catch { return .unavailable(error) }
                return .absent
            }
        } catch { return try error.probes(addresses.count) }
    }

    /// Returns the state of a slot from memory after one `stat`. Nil if the file was changed, or if a second read must
    /// confirm its content (see ``PropertyListSnapshot/settlingTime``).
    package func immediateProbe(of address: StorageAddress) -> StorageProbe? {
        guard let probe = (try? unchangedSnapshot())?.probe(address) else { return nil }
        // An invalid name is not absent. Its error is reported by `read`.
        if case .absent = probe, (try? Self.validate(address)) == nil { return nil }
        return probe
    }

    /// Returns the number of the state in memory after one `stat`. Nil in the cases of ``immediateProbe(of:)``.
    package func immediateVersion() -> UInt64? { (try? unchangedSnapshot())?.number }

    /// Lists the slots that are not empty, including those of other programs.
    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        let document = try file.document(of: try await snapshot(.validated))
        return document.slots.map(\.address).filter { $0.namespace == namespace }
    }

    /// Throws for an address that a property list cannot hold.
    package func validate(_ address: StorageAddress) throws(BackendError) { try Self.validate(address) }

    /// Returns whether the file can be read. A missing file is ready: the first change creates it.
    package func status() async -> BackendStatus {
        do throws(BackendError) {
            _ = try file.document(of: try await snapshot(.validated))
            return .ready
        } catch {
            return .unavailable(error)
        }
    }

    /// Returns the state of the file. With the freshness `validated`, the state comes from memory if one `stat` shows
    /// that it is current. Otherwise the file is read on the lane.
    private func snapshot(_ freshness: ReadFreshness) async throws(BackendError) -> PropertyListSnapshot {
        if freshness == .validated, let known = try unchangedSnapshot() { return known }
        // Read the file: the caller wants a fresh read, the file has changed, or a second read must confirm its
        // content.
        return try await load(rereading: true)
    }

    /// Returns the snapshot in memory if one `stat` shows that it is current.
    private func unchangedSnapshot() throws(BackendError) -> PropertyListSnapshot? {
        guard let known = file.lastSnapshot else { return nil }
        // Take the snapshot before the status. In the other order, a write in between would pair an old status with a
        // new snapshot.
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
        // Another program has overwritten changes. Every commit writes such changes again, so commit a call without
        // mutations.
        _ = try await commits.submit([], deadline: deadline, isMutation: false)
        return try await loads.submit(false, deadline: deadline, isMutation: false)
    }

    // MARK: Writing

    /// Changes slots: either all of them or none. When this returns, applied changes are in the file and survive a
    /// power loss.
    ///
    /// Calls that wait at the same time share one lock, one rewrite and one flush. Each call remains a separate
    /// atomic batch.
    /// - Throws: ``BackendError`` with `timedOut` or `cancelled`. Its outcome states whether the changes may have
    ///   been applied.
    package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        guard !mutations.isEmpty else { return [] }
        try mutations.requireDistinctAddresses()
        if let refusal = refusal(of: mutations) { return refusal }
        do throws(BackendError) {
            return try await commits.submit(mutations, deadline: nextDeadline, isMutation: true)
        } catch { return try error.results(mutations.count) }
    }

    /// Returns the results of a call that is refused, whatever the content of the store is; otherwise nil. This check
    /// needs no lock.
    private func refusal(of mutations: [StorageMutation]) -> [MutationResult]? {
        mutations.refused { (mutation) throws(BackendError) in
            try Self.validate(mutation)
            try capabilities.requireFit(mutation.byteCount, in: "a property list")
            return nil
        }
    }

    /// Flushes the file and its directory to disk, under the lock. Calls that wait at the same time share one flush.
    /// - Throws: ``BackendError`` if the lock could not be taken or the flush failed.
    package func synchronize() async throws(BackendError) -> StorageDurability {
        try await flushes.submit((), deadline: nextDeadline, isMutation: false)
        return .durable
    }

    /// Removes a damaged file durably, after copying it durably to the quarantine directory.
    /// - Returns: The path of the copy.
    /// - Throws: ``BackendError`` if the file is not damaged, or could not be copied or removed.
    package func setAsideDamagedStore() async throws(BackendError) -> String {
        let file = file
        return try await onLane(isMutation: true) { (deadline) throws(BackendError) in
            try file.locked(deadline: deadline) { () throws(BackendError) in try file.setAside(deadline: deadline) }
        }
    }

    /// Closes the file and drops its content from memory. The next call reads the file again.
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
