#if Keyring && os(Linux)
    package import BackendContract
    package import BackendRuntime

    /// Reads items that any program has stored, and changes nothing. An item is found by some of its attributes.
    ///
    /// It opens no prompt. A name is *absent* only with the proof that ``SlotReader`` describes.
    package struct KeyringItemReader: Sendable {
        private let deadline: Duration
        private let allowsPlainTransport: Bool
        private let runtime: Runtime
        private let connection: SecretServiceConnection

        /// Creates a reader. This opens no connection.
        /// - Parameters:
        ///   - deadline: How long a call may take, including the time in the queue.
        ///   - allowsPlainTransport: Whether secrets may be sent over the bus unencrypted if the daemon supports no
        ///     encryption.
        ///   - runtime: The clock.
        ///   - connection: The connection that the stores of the process share.
        package init(
            deadline: Duration, allowsPlainTransport: Bool, runtime: Runtime, connection: SecretServiceConnection = .shared
        ) {
            (self.deadline, self.allowsPlainTransport) = (deadline, allowsPlainTransport)
            (self.runtime, self.connection) = (runtime, connection)
        }

        /// Reads the items with the given attributes, whatever other attributes they have.
        /// - Parameter items: The attributes of each item.
        /// - Returns: One probe for each item. If several items have the attributes, it is the error `ambiguous`.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled`. Other errors are reported in the probes.
        package func read(_ items: [[String: String]]) async throws(BackendError) -> [StorageProbe] {
            try await onLane { call throws(BackendError) in
                var probes: [StorageProbe] = []
                for attributes in items { probes.append(try probe(attributes, call)) }
                return probes
            }
        }

        /// Returns whether the default collection can be used.
        package func status() async -> BackendStatus {
            do throws(BackendError) {
                return try await onLane { call throws(BackendError) in
                    do throws(KeyringFault) {
                        return switch try connection.repeatably(call, { client throws(KeyringFault) in try client.defaultCollection() }) {
                        case .none: .absent
                        case .locked: .locked
                        case .unlocked: .ready
                        }
                    } catch { throw error.backendError() }
                }
            } catch { return .unavailable(error) }
        }

        private func probe(_ attributes: [String: String], _ call: BusCall) throws(BackendError) -> StorageProbe {
            do throws(BackendError) {
                if attributes.isEmpty { throw BackendError(.invalidName, "An item needs at least one attribute that identifies it.") }
                for text in attributes.flatMap({ [$0.key, $0.value] }) { try StorageAddress(text).validate() }
            } catch { return .unavailable(error) }
            do throws(KeyringFault) {
                return try connection.repeatably(call) { client throws(KeyringFault) in
                    try SlotReader.untilUnchanged { () throws(KeyringFault) in try Self.probe(attributes, client) }
                }
            } catch {
                if error.kind == .timedOut || error.kind == .cancelled { throw error.backendError() }
                return error.kind == .locked ? .locked : .unavailable(error.backendError())
            }
        }

        /// Makes one attempt to read an item.
        private static func probe(_ attributes: [String: String], _ client: SecretServiceClient) throws(KeyringFault) -> StorageProbe {
            let found = try client.search(attributes)
            guard found.locked.isEmpty else { return .locked }
            var items: [SecretServiceClient.Item] = []
            for path in found.unlocked {
                let item = try client.describe(path)
                guard !item.isLocked else { throw KeyringFault(.vanished, "an item was locked during the read") }
                // Some daemons also find items whose attributes are similar.
                if attributes.allSatisfy({ item.attributes[$0.key]?.hasSameBytes(as: $0.value) == true }) { items.append(item) }
            }
            guard let item = items.first else {
                let reason = "There is no default keyring, so no item can be found in it."
                return try SlotReader.emptyView(confirming: found, attributes, client, noCollection: reason).probe
            }
            guard items.count == 1 else {
                return .unavailable(
                    BackendError(
                        .ambiguous, "\(items.count) items of the keyring have these attributes. Add an attribute that only one of them has."
                    ))
            }
            guard var secret = try client.secrets([item.path])[item.path] else {
                throw KeyringFault(.vanished, "an item without a readable secret")
            }
            defer { wipe(&secret) }
            let revision = KeyringPayload.revision(path: item.path, modified: item.modified, secret: secret)
            if secret.isEmpty {
                let reason = "the item was created, but its content was never stored"
                return .corrupt(StorageCorruption(bytes: [], revision: revision, reason: reason))
            }
            return KeyringPayload.probe(secret, isInterop: true, revision: revision)
        }

        private func onLane<Answer: Sendable>(
            _ work: @escaping @Sendable (BusCall) throws(BackendError) -> Answer
        ) async throws(BackendError) -> Answer {
            let (clock, allowsPlainTransport) = (runtime.clock, allowsPlainTransport)
            return try await connection.lane.run(clock: clock, deadline: runtime.deadline(after: deadline), isMutation: false) {
                call throws(BackendError) in
                try work(BusCall(call, clock: clock, allowsPlainTransport: allowsPlainTransport))
            }
        }
    }
#endif
