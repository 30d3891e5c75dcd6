#if Keyring && os(Linux)
    import BackendContract
    package import BackendRuntime
    import Synchronization

    /// The connection to the keyring that all stores of a process share: one link, opened when it is first needed and anew after the daemon or
    /// the bus died, and the lane that reads run on. Each store changes slots on a lane of its own, where waiting for another process's lock
    /// delays no reads.
    package final class SecretServiceConnection: Sendable {
        /// The connection of the whole process.
        package static let shared = SecretServiceConnection(runtime: .live)

        let lane: any Lane
        /// Prompts wait for people: they have a lane of their own, so that reading goes on meanwhile.
        let promptLane: any Lane
        /// What the stores of the process are told of changes by others.
        let watch = SecretWatch()
        private let current = Mutex<SecretLink?>(nil)
        private let files: any FileSystem

        /// Creates a connection; nothing is opened.
        /// - Parameter runtime: Makes the lanes.
        package init(runtime: Runtime) {
            files = runtime.files
            lane = runtime.makeLane("keyring")
            promptLane = runtime.makeLane("keyring-prompt")
        }

        /// Carries out a conversation that may be repeated, because it changes nothing or finds what it has changed; once more over a new link
        /// when the first one turns out to be dead.
        func repeatably<Answer>(
            _ call: BusCall, _ body: (SecretServiceClient) throws(KeyringFault) -> Answer
        ) throws(KeyringFault) -> Answer {
            do throws(KeyringFault) {
                return try conversing(call) { client throws(KeyringFault) in
                    var client = client
                    // A session with a wrong key decodes a secret to noise, once in 256 times; every session decodes one that is not text.
                    client.suspectsBinarySecrets = true
                    return try body(client)
                }
            } catch {
                guard error.isStale, !call.isOver else { throw error }
                return try conversing(call, body)
            }
        }

        /// Carries out a conversation once. A fault that says the link is dead makes the next conversation open a new one.
        func conversing<Answer>(
            _ call: BusCall, _ body: (SecretServiceClient) throws(KeyringFault) -> Answer
        ) throws(KeyringFault) -> Answer {
            let link = try link(call)
            do throws(KeyringFault) {
                return try body(SecretServiceClient(link: link, call: call))
            } catch {
                if error.isStale { forget(link) }
                throw error
            }
        }

        /// Begins to listen for changes. Those who listen are told once that they may have missed something.
        func listen(_ call: BusCall) throws(KeyringFault) {
            let address = try BusAddress.current()
            try BusAddress.requireTrust(in: address, files)
            try watch.listen(at: address, call)
        }

        private func link(_ call: BusCall) throws(KeyringFault) -> SecretLink {
            let address = try BusAddress.current()
            if watch.isDeaf(at: address) { try listen(call) }
            if let link = current.withLock({ $0 }), link.address == address, !link.isClosed {
                if try !link.isSuperseded(call) { return link }
                forget(link)
            }
            try BusAddress.requireTrust(in: address, files)
            let link = try SecretLink(address: address, call)
            current.withLock { $0 = link }
            return link
        }

        private func forget(_ link: SecretLink) {
            current.withLock { if $0 === link { $0 = nil } }
        }
    }
#endif
