#if Keyring && os(Linux)
    package import BackendContract
    import BackendRuntime

    extension SecretServiceStore: DescribableKeyring {
        package func describeKeyring() async throws(BackendError) -> KeyringDescription {
            try await onLane { [self] call throws(BackendError) in
                try conversing(call) { client throws(KeyringFault) in
                    // First open the session with the daemon, whose key encrypts secrets on the bus. For this, the bus
                    // starts a daemon that is not running, if it can.
                    let algorithm = try client.link.algorithm(call)
                    let (provider, collection) = try found(client)
                    var description = KeyringDescription(provider: provider, collection: collection, algorithm: algorithm)
                    if directory.isPlainText { description.valuesAtRisk = try valuesAtRisk(client) }
                    return description
                }
            }
        }

        package func keeper() async throws(BackendError) -> String {
            try await onLane { [self] call throws(BackendError) in
                let (provider, collection) = try conversing(call) { client throws(KeyringFault) in try found(client) }
                return "\(provider ?? "an unknown program") with \(collection ?? "no default collection")"
            }
        }

        /// Returns the name of the program that keeps the secrets, and the path of the default collection.
        private func found(_ client: SecretServiceClient) throws(KeyringFault) -> (provider: String?, collection: String?) {
            let collection: String? =
                switch try client.defaultCollection() {
                case .locked(let path), .unlocked(let path): path
                case .none: nil
                }
            return (programName(try client.processID()), collection)
        }

        /// Returns the names of this store's values that gnome-keyring would lose in a collection without a password.
        private func valuesAtRisk(_ client: SecretServiceClient) throws(KeyringFault) -> [String] {
            var names: [String: String] = [:]
            for path in try client.search(layout.search(.values)).unlocked {
                names[path] = layout.address(of: try client.describe(path).attributes, in: .values)?.name
            }
            var secrets = try client.secrets(names.keys.sorted())
            defer { for path in names.keys { wipe(&secrets[path, default: []]) } }
            return secrets.filter { KeyringPayload.whyLost($0.value) != nil }.compactMap { names[$0.key] }.sorted()
        }

        /// Returns the name of the program that a process runs; nil if `/proc` does not have the name.
        private func programName(_ process: UInt64?) -> String? {
            guard let process else { return nil }
            let link = "/proc/\(process)/exe"
            let path = runtime.files.resolve(link)
            if path != link, !path.hasPrefix("/proc/") { return lastComponent(of: path) }
            // `comm` has the first fifteen bytes of the name, even for another user's process.
            guard let bytes = try? runtime.files.read("/proc/\(process)/comm")?.bytes else { return nil }
            return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }

    extension SecretServiceClient {
        /// Returns the process ID of the daemon; nil if the bus does not report it.
        fileprivate func processID() throws(KeyringFault) -> UInt64? {
            let arguments = Outgoing.tuple(Outgoing.text(SecretLink.daemon))
            return try link.askBus("GetConnectionUnixProcessID", arguments, reply: "(u)", call)[0]?.number
        }
    }
#endif
