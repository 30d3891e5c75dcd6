#if Keyring && os(Linux)
    import BackendContract
    package import BackendRuntime
    import Synchronization

    /// The connection to the keyring that all stores of a process share.
    ///
    /// It has one link (``SecretLink``) to the daemon, which is opened at the first use, and opened again after the
    /// daemon or the bus died. It also has the lane (serial queue) for reads. Each store makes changes on a separate
    /// lane, so a change that waits for another process's lock delays no reads.
    package final class SecretServiceConnection: Sendable {
        /// The connection of the whole process.
        package static let shared = SecretServiceConnection(runtime: .live)

        let lane: any Lane
        /// A separate lane for prompts, because a prompt waits for the user and must not delay reads.
        let promptLane: any Lane
        /// Notifies the stores of the process of changes in the keyring.
        let watch = SecretWatch()
        private let current = Mutex<SecretLink?>(nil)
        private let files: any FileSystem
        private let address: String?

        /// Creates a connection; nothing is opened.
        /// - Parameters:
        ///   - runtime: The files and the lanes.
        ///   - address: The address of the bus; nil for the session bus that the environment names.
        package init(runtime: Runtime, address: String? = nil) {
            files = runtime.files
            self.address = address
            lane = runtime.makeLane("keyring")
            promptLane = runtime.makeLane("keyring-prompt")
        }

        /// Runs a conversation (a series of requests), and runs it once more over a new link if the link fails. The
        /// conversation must change nothing, or must detect the changes of its first run.
        func repeatably<Answer>(
            _ call: BusCall, _ body: (SecretServiceClient) throws(KeyringFault) -> Answer
        ) throws(KeyringFault) -> Answer {
            do throws(KeyringFault) {
                return try conversing(call, reads: true) { client throws(KeyringFault) in
                    var client = client
                    // In the first run, a secret that is not text counts as a fault. The second run, over another
                    // session, accepts the secret.
                    // Reason: "Secrets are read back, except from gnome-keyring" in Docs/Decisions/Keyring.md.
                    client.suspectsBinarySecrets = true
                    return try body(client)
                }
            } catch {
                guard error.isStale, !call.isOver else { throw error }
                return try conversing(call, reads: true, body)
            }
        }

        /// Runs a conversation once. If a fault shows that the link is dead, the next conversation opens a new link.
        /// - Parameter reads: Whether the conversation only reads. A read learns from a signal of the bus that the
        ///   daemon was replaced. Before a change, the bus is asked.
        func conversing<Answer>(
            _ call: BusCall, reads: Bool = false, _ body: (SecretServiceClient) throws(KeyringFault) -> Answer
        ) throws(KeyringFault) -> Answer {
            let link = try link(call, reads: reads)
            do throws(KeyringFault) {
                return try body(SecretServiceClient(link: link, call: call))
            } catch {
                if error.isStale { forget(link) }
                throw error
            }
        }

        /// Begins to listen for changes in the keyring, unless ``watch`` already listens. Then notifies all listeners
        /// once, because they may have missed a change.
        func listen(_ call: BusCall) throws(KeyringFault) {
            try watch.listen(at: try busAddress(), files, call)
        }

        /// Returns the address of the bus.
        func busAddress() throws(KeyringFault) -> String {
            if let address { return address }
            return try BusAddress.current()
        }

        private func link(_ call: BusCall, reads: Bool) throws(KeyringFault) -> SecretLink {
            let address = try busAddress()
            if watch.isDeaf(at: address) { try listen(call) }
            if let link = current.withLock({ $0 }), link.address == address, !link.isClosed {
                if try !(reads ? link.isKnownSuperseded : link.isSuperseded(call)) { return link }
                forget(link)
            }
            let link = try SecretLink(address: address, files, call)
            current.withLock { $0 = link }
            return link
        }

        private func forget(_ link: SecretLink) {
            current.withLock { if $0 === link { $0 = nil } }
        }
    }
#endif
