#if Keyring && os(Linux)
    package import BackendContract
    import BackendRuntime

    extension SecretServiceStore: DescribableKeyring {
        package func describeKeyring() async throws(BackendError) -> KeyringDescription {
            try await onLane { [self] call throws(BackendError) in
                try conversing(call) { client throws(KeyringFault) in
                    // The session first: it starts a program that the bus knows how to start.
                    let algorithm = try client.link.algorithm(call)
                    let collection: String? =
                        switch try client.defaultCollection() {
                        case .locked(let path), .unlocked(let path): path
                        case .none: nil
                        }
                    var description = KeyringDescription(
                        provider: programName(try client.processID()), collection: collection, algorithm: algorithm)
                    if directory.protection == .plain { description.valuesAtRisk = try valuesAtRisk(client) }
                    return description
                }
            }
        }

        /// The names of this store's values that a collection without a password loses.
        private func valuesAtRisk(_ client: SecretServiceClient) throws(KeyringFault) -> [String] {
            var names: [String: String] = [:]
            for path in try client.search(layout.search(.values)).unlocked {
                names[path] = layout.address(of: try client.describe(path).attributes, in: .values)?.name
            }
            var secrets = try client.secrets(names.keys.sorted())
            defer { for path in names.keys { wipe(&secrets[path, default: []]) } }
            return secrets.filter { KeyringPayload.whyLost($0.value) != nil }.compactMap { names[$0.key] }.sorted()
        }

        /// The name of the program that a process runs; nil where `/proc` does not tell.
        private func programName(_ process: UInt64?) -> String? {
            guard let process else { return nil }
            let link = "/proc/\(process)/exe"
            let path = runtime.files.resolve(link)
            if path != link, !path.hasPrefix("/proc/") { return lastComponent(of: path) }
            // The first fifteen bytes of the name, also of another user's process.
            guard let bytes = try? runtime.files.read("/proc/\(process)/comm")?.bytes else { return nil }
            return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }

    extension SecretServiceClient {
        /// The process of the program that keeps the secrets; nil where the bus does not tell.
        fileprivate func processID() throws(KeyringFault) -> UInt64? {
            let reply = try link.request(
                "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixProcessID",
                Outgoing.tuple(Outgoing.text(SecretLink.daemon)), to: "org.freedesktop.DBus", reply: "(u)", call)
            return reply[0]?.number
        }
    }
#endif
