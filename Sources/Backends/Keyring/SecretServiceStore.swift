#if Keyring && os(Linux)
    package import BackendContract
    package import BackendRuntime

    /// The keyring: items of the Secret Service (gnome-keyring, oo7, KWallet, KeePassXC) in the session's default
    /// collection.
    ///
    /// Reading and writing open no prompt of gnome-keyring; only ``unlock()`` does. KeePassXC creates and deletes
    /// items through a prompt. It completes the prompt without the user unless its settings require the user's
    /// consent.
    ///
    /// The deadline of a call covers queueing and execution. The caller returns on time even if the daemon or the bus
    /// does not respond. If several items match a slot (the location of one value), reading the slot and writing it
    /// fail with `ambiguous`.
    ///
    /// Preconditions hold between all processes that use the same lock file. Writers outside LocalData are detected,
    /// not excluded.
    package final class SecretServiceStore: LockableBackend, PartlyLockedBackend {
        /// The service and the attributes that identify its items. Two stores over the same items have the same
        /// identity.
        package let identity: BackendIdentity
        /// The guarantees of the store. They depend on the style, the format of its items. Changes are durable only if
        /// the daemon's folder was given.
        package let capabilities: BackendCapabilities

        let layout: ItemLayout
        let connection: SecretServiceConnection
        let runtime: Runtime
        let lockFile: String
        let directory: KeyringsDirectory
        private let writeLane: any Lane
        private let deadline: Duration
        private let promptDeadline: Duration
        private let allowsPlainTransport: Bool

        /// The maximum size of a value in bytes, including its metadata. It is small enough that the daemon can hold
        /// many such values in memory and in one message.
        package static let maximumValueSize = 1 << 20

        /// Creates a store. This opens no connection and cannot fail. It only reads the file of the default collection,
        /// to determine the protection level.
        /// - Parameters:
        ///   - service: The service that the items belong to.
        ///   - style: The layout of the items.
        ///   - lockFile: The path of the file that processes lock while they write. All processes that share the
        ///     service must use the same lock file. The file is created when it is needed, and never removed.
        ///   - deadline: How long a call may take, including the time in the queue.
        ///   - promptDeadline: How long ``unlock()`` may wait for the user.
        ///   - keyringsDirectory: The folder of the daemon's files (`$XDG_DATA_HOME/keyrings`), which is flushed
        ///     after a change. If it is nil or not the daemon's folder, a power loss may undo changes, and their
        ///     results have the durability `untilPowerLoss`.
        ///   - allowsPlainTransport: Whether secrets may be sent over the bus unencrypted if the daemon supports no
        ///     encryption.
        ///   - runtime: The clock, the randomness, the files, and the lane for changes.
        ///   - connection: The connection that the stores of the process share.
        package init(
            service: String, style: KeyringStyle = .localData, lockFile: String, deadline: Duration = .seconds(10),
            promptDeadline: Duration = .seconds(120), keyringsDirectory: String? = nil, allowsPlainTransport: Bool = false,
            runtime: Runtime = .live, connection: SecretServiceConnection = .shared
        ) {
            self.lockFile = lockFile
            self.deadline = deadline
            self.promptDeadline = promptDeadline
            (self.allowsPlainTransport, self.runtime, self.connection) = (allowsPlainTransport, runtime, connection)
            writeLane = runtime.makeLane("keyring-write")
            layout = ItemLayout(service: service, style: style)
            directory = KeyringsDirectory(path: keyringsDirectory, files: runtime.files)
            identity = BackendIdentity(kind: "secret-service", store: layout.identity)
            capabilities = BackendCapabilities(
                durability: keyringsDirectory == nil ? .untilPowerLoss : .durable, atomicBatch: false, crossProcess: true,
                protection: directory.protection,
                maximumValueSize: Self.maximumValueSize, storesNativeValues: style.isInterop, sharedWithOthers: true,
                usefulConcurrency: 2)
        }

        // MARK: Reading

        /// Reads slots with one search for each slot, or with one search for all slots if that is cheaper.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled` if the caller stopped waiting first.
        package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            try await onLane { [self] call throws(BackendError) in
                var probes: [StorageProbe?] = addresses.map { address in
                    do throws(BackendError) { try layout.validate(address) } catch { return .unavailable(error) }
                    return nil
                }
                let open = addresses.indices.filter { probes[$0] == nil }
                for (index, view) in zip(open, try look(at: open.map { addresses[$0] }, call)) { probes[index] = view.probe }
                return probes.compactMap { $0 }
            }
        }

        /// Lists the slots of a namespace that are not empty, including items of other programs.
        /// - Throws: ``BackendError`` with `locked`, `unavailable`, `timedOut` or `cancelled`.
        package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            try await onLane { [self] call throws(BackendError) in
                try layout.validate(StorageAddress("any", in: namespace))
                return try conversing(call) { client throws(KeyringFault) in
                    try SlotReader(client: client, layout: layout, directory: directory).slots(in: namespace, besideLocks: false).addresses
                }
            }
        }

        /// Lists the slots of a namespace, also while another collection than the default one is locked.
        /// - Throws: ``BackendError`` with `locked`, `unavailable`, `timedOut` or `cancelled`.
        package func slotsBesideLocks(
            in namespace: StorageNamespace
        ) async throws(BackendError) -> (addresses: [StorageAddress], nameless: [DamageHandle]) {
            try await onLane { [self] call throws(BackendError) in
                try layout.validate(StorageAddress("any", in: namespace))
                let found = try conversing(call) { client throws(KeyringFault) in
                    try SlotReader(client: client, layout: layout, directory: directory).slots(in: namespace, besideLocks: true)
                }
                return (found.addresses, found.nameless.map { DamageHandle(Array($0.utf8)) })
            }
        }

        /// Throws for an address that the keyring cannot hold.
        package func validate(_ address: StorageAddress) throws(BackendError) { try layout.validate(address) }

        /// Returns whether the default collection can be used and secrets can be sent.
        package func status() async -> BackendStatus {
            do throws(BackendError) {
                return try await onLane { [self] call throws(BackendError) in
                    try layout.validateStore()
                    return try conversing(call) { client throws(KeyringFault) in
                        switch try client.defaultCollection() {
                        case .none: return .absent
                        case .locked: return .locked
                        case .unlocked:
                            _ = try client.link.sessionPath(call)
                            return .ready
                        }
                    }
                }
            } catch { return .unavailable(error) }
        }

        /// Flushes the daemon's folder, if its path was given. Otherwise returns `untilPowerLoss`.
        /// - Throws: ``BackendError`` if the daemon could not be asked for its default collection.
        package func synchronize() async throws(BackendError) -> StorageDurability {
            try await onLane { [self] call throws(BackendError) in
                try conversing(call) { client throws(KeyringFault) in
                    switch try client.defaultCollection() {
                    case .locked(let path), .unlocked(let path): try folder(client).flush(path)
                    case .none: .untilPowerLoss
                    }
                }
            }
        }

        /// Returns the files of the daemon.
        func folder(_ client: SecretServiceClient) throws(KeyringFault) -> CollectionFiles {
            try directory.files(isGnome: client.link.isKeptByGnome(client.call))
        }

        /// Reads slots with valid addresses. An error of the whole store becomes the result for every slot.
        func look(at addresses: [StorageAddress], _ call: BusCall) throws(BackendError) -> [SlotView] {
            do throws(KeyringFault) {
                return try connection.repeatably(call) { client throws(KeyringFault) in
                    try SlotReader(client: client, layout: layout, directory: directory).look(at: addresses)
                }
            } catch {
                if error.kind == .timedOut || error.kind == .cancelled { throw error.backendError() }
                let probe: StorageProbe = error.kind == .locked ? .locked : .unavailable(error.backendError())
                return addresses.map { _ in SlotView(probe: probe) }
            }
        }

        // MARK: Writing

        /// Changes slots one after the other, under the lock file. *Applied* means that the daemon has acknowledged
        /// the change; gnome-keyring writes and flushes its file before that. *Durable* means that the folder of that
        /// file was flushed too.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled` if the caller stopped waiting first, or if the
        ///   lock could not be taken.
        package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
            try await onLane(writeLane, isMutation: true) { [self] call throws(BackendError) in
                try SlotWriter(store: self, call: call).apply(mutations)
            }
        }

        // MARK: Unlocking

        /// Unlocks the default collection and the collections of the store's items. Opens the daemon's prompt if one
        /// of these collections is locked and the daemon requires a prompt.
        ///
        /// If the caller stops waiting, the prompt stays open, and the user's answer still unlocks the collection.
        /// Later calls wait for that prompt instead of opening another one.
        /// - Throws: ``BackendError`` with `promptDismissed`, `locked` (no program can show a prompt), `timedOut` or
        ///   `unavailable`.
        package func unlock() async throws(BackendError) {
            try await onLane(connection.promptLane, within: promptDeadline, isMutation: true) { call throws(BackendError) in
                do throws(KeyringFault) {
                    // Use a separate link, because the prompt may stay open for minutes.
                    let link = try SecretLink(address: try self.connection.busAddress(), self.runtime.files, call)
                    let client = SecretServiceClient(link: link, call: call)
                    let layout = self.layout
                    func locked() throws(KeyringFault) -> [String] {
                        let collection = try client.defaultCollection()
                        // If the daemon is not gnome-keyring, a search could open a prompt. Therefore unlock only the
                        // default collection now. The next pass of the loop below finds other locked items.
                        if case .locked(let path) = collection, try !client.link.isKeptByGnome(call) { return [path] }
                        let items = try client.search(layout.search).locked
                        return switch collection {
                        case .unlocked: items
                        case .locked(let path): [path] + items
                        case .none where items.isEmpty: throw KeyringFault(.noBus, self.directory.noCollection)
                        case .none: items
                        }
                    }
                    var asked: Set<String> = []
                    while true {
                        let paths = try locked()
                        if paths.isEmpty { return }
                        if !asked.isDisjoint(with: paths) { break }
                        asked.formUnion(paths)
                        try client.unlock(paths)
                    }
                    if try client.lacksPrompter() { throw KeyringFault(.noPrompter, "org.gnome.keyring.SystemPrompter") }
                    // Without a display, the program that gnome-keyring starts for its prompt ends at once.
                    let isGnome = try client.link.isKeptByGnome(call)
                    let display = isGnome ? ", or could not be shown. Without a display, run \(KeyringFault.unlockCommand)" : ""
                    throw KeyringFault(.dismissed, "the prompt was closed\(display)")
                } catch { throw error.backendError() }
            }
        }

        // MARK: The lane

        /// Runs requests that can be repeated.
        /// - Parameter outcome: The outcome that an error has.
        func conversing<Answer>(
            _ call: BusCall, outcome: MutationOutcome = .notApplied, _ body: (SecretServiceClient) throws(KeyringFault) -> Answer
        ) throws(BackendError) -> Answer {
            do throws(KeyringFault) {
                return try connection.repeatably(call, body)
            } catch { throw error.backendError(outcome: outcome) }
        }

        func onLane<Answer: Sendable>(
            _ lane: (any Lane)? = nil, within limit: Duration? = nil, isMutation: Bool = false,
            _ work: @escaping @Sendable (BusCall) throws(BackendError) -> Answer
        ) async throws(BackendError) -> Answer {
            let (clock, allowsPlainTransport) = (runtime.clock, allowsPlainTransport)
            let deadline = runtime.deadline(after: limit ?? deadline)
            return try await (lane ?? connection.lane).run(clock: clock, deadline: deadline, isMutation: isMutation) {
                call throws(BackendError) in
                try work(BusCall(call, clock: clock, allowsPlainTransport: allowsPlainTransport))
            }
        }
    }
#endif
