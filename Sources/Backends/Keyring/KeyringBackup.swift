#if Keyring && os(Linux)
    package import BackendContract
    package import BackendRuntime
    import Synchronization

    /// Copies the keyring items of a service (the name that all items of a store share), and restores them with exactly
    /// the same bytes.
    extension SecretServiceStore: BackupItemStore {
        package var backupLock: String? { lockFile }

        package var keptService: String { keptLayout.service }

        /// The layout of items that were moved to another namespace. A style of another program has no namespaces, so the
        /// items get LocalData's format. They also get another service, so that no search of the other program finds them.
        private var keptLayout: ItemLayout {
            layout.style.isInterop ? ItemLayout(service: "replaced:\(layout.service)", style: .localData) : layout
        }

        package func copyForBackup(deadline: MonotonicInstant) async throws(BackendError) -> (any BackupCopy)? {
            ItemsCopy(store: self, items: try await items(deadline: deadline))
        }

        package func items(deadline: MonotonicInstant) async throws(BackendError) -> [BackupItem] {
            try await onLane { [self] call throws(BackendError) in
                try layout.validateStore()
                return try conversing(call) { client throws(KeyringFault) in try items(client, layout) }
            }
        }

        /// Returns every item of a layout, sorted by namespace and name.
        private func items(_ client: SecretServiceClient, _ layout: ItemLayout) throws(KeyringFault) -> [BackupItem] {
            let found = try client.search(layout.searchAll)
            guard found.locked.isEmpty else { throw KeyringFault(.locked, "locked items") }
            switch try client.defaultCollection() {
            case .locked: throw KeyringFault(.locked, "the default collection")
            case .none where found.unlocked.isEmpty: throw KeyringFault(.noBus, directory.noCollection)
            case .none, .unlocked: break
            }
            var addresses: [String: StorageAddress] = [:]
            for (address, all) in try slots(client, layout, found.unlocked) {
                for item in all { addresses[item.path] = address }
            }
            var secrets = try client.secrets(Array(addresses.keys))
            defer { for path in addresses.keys { wipe(&secrets[path, default: []]) } }
            var items: [BackupItem] = []
            for (path, address) in addresses {
                guard let secret = secrets[path] else { throw KeyringFault(.vanished, "an item without a readable secret") }
                items.append(BackupItem(namespace: address.namespace.name, name: address.name, content: secret))
            }
            guard Set(items.map { [$0.namespace, $0.name] }).count == items.count else {
                throw KeyringFault(.refused, "several items of the service \(layout.service) have the same name")
            }
            return items.sorted { ($0.namespace, $0.name) < ($1.namespace, $1.name) }
        }

        /// Returns the items of each slot. Of the duplicates in oo7, only the newest one is returned.
        private func slots(
            _ client: SecretServiceClient, _ layout: ItemLayout, _ paths: [String]
        ) throws(KeyringFault) -> [StorageAddress: [SecretServiceClient.Item]] {
            var slots: [StorageAddress: [SecretServiceClient.Item]] = [:]
            for path in paths {
                let item = try client.describe(path)
                if let address = layout.address(of: item.attributes) { slots[address, default: []].append(item) }
            }
            for (address, all) in slots where all.count > 1 && !layout.style.isInterop {
                if let newest = try client.newest(of: all) { slots[address] = [newest] }
            }
            return slots
        }

        package func sealing(of item: BackupItem) -> String? {
            KeyringPayload.probe(item.content, isInterop: layout.style.isInterop, revision: StorageRevision([])).record?.metadata.sealing
        }

        package func restore(_ item: BackupItem, keeping kept: String, deadline: MonotonicInstant) async throws(BackendError) {
            try await onLane(isMutation: true) { [self] call throws(BackendError) in
                try conversing(call, outcome: .unknown) { client throws(KeyringFault) in
                    let standing = try items(client, layout).first { $0.namespace == item.namespace && $0.name == item.name }
                    if standing?.content == item.content { return }
                    if let standing { try move(standing, to: kept, client) }
                    try create(item, layout, client)
                    flush(client)
                }
            }
        }

        package func move(_ item: BackupItem, to kept: String, deadline: MonotonicInstant) async throws(BackendError) {
            try await onLane(isMutation: true) { [self] call throws(BackendError) in
                try conversing(call, outcome: .unknown) { client throws(KeyringFault) in
                    try move(item, to: kept, client)
                    flush(client)
                }
            }
        }

        private func move(_ item: BackupItem, to kept: String, _ client: SecretServiceClient) throws(KeyringFault) {
            var moved = item
            moved.namespace = item.namespace.isEmpty ? kept : "\(kept):\(item.namespace)"
            if try !items(client, keptLayout).contains(moved) { try create(moved, keptLayout, client) }
            let address = StorageAddress(item.name, in: StorageNamespace(item.namespace))
            let found = try client.search(layout.search(address)).unlocked
            for item in try slots(client, layout, found)[address] ?? [] { try client.delete(item) }
        }

        private func create(_ item: BackupItem, _ layout: ItemLayout, _ client: SecretServiceClient) throws(KeyringFault) {
            let address = StorageAddress(item.name, in: StorageNamespace(item.namespace))
            guard case .unlocked(let collection) = try client.defaultCollection() else {
                throw KeyringFault(.locked, "the default collection")
            }
            _ = try client.create(item.content, attributes: layout.written(address), label: layout.label(address), in: collection)
        }

        private func flush(_ client: SecretServiceClient) {
            if case .unlocked(let path) = try? client.defaultCollection() { _ = try? folder(client).flush(path) }
        }
    }

    /// A copy of all items of a service, made at one moment and kept in memory.
    private final class ItemsCopy: BackupCopy {
        private let store: SecretServiceStore
        private let items: [BackupItem]
        private let next = Mutex(0)

        init(store: SecretServiceStore, items: [BackupItem]) {
            self.store = store
            self.items = items
        }

        func nextPart() async throws(BackendError) -> [UInt8]? {
            let number = next.withLock { next in
                defer { next += 1 }
                return next
            }
            return items.indices.contains(number) ? items[number].part : nil
        }

        func hasChanged() async throws(BackendError) -> Bool {
            try await store.items(deadline: store.runtime.clock.now.advanced(by: .seconds(10))) != items
        }

        func close() async {}
    }

    extension ItemLayout {
        /// The attributes with which a search finds all items of the store.
        fileprivate var searchAll: [String: String] {
            var all = search(StorageNamespace.values)
            if !style.isInterop { all["namespace"] = nil }
            return all
        }

        /// Returns the address of the slot (the location of one value) that an item belongs to, in any namespace; nil
        /// if it belongs to none.
        fileprivate func address(of attributes: [String: String]) -> StorageAddress? {
            guard !style.isInterop else { return address(of: attributes, in: .values) }
            switch attributes["namespace"] {
            case "values"?: return address(of: attributes, in: .values)
            case let text? where text.hasPrefix("n:"): return address(of: attributes, in: StorageNamespace(String(text.dropFirst(2))))
            default: return nil
            }
        }
    }
#endif
