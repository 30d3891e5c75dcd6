#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime

    /// The content of a slot (the location of one value), and the item of the keyring that contains it.
    struct SlotView {
        var probe: StorageProbe
        /// The path of the slot's only item; nil if the slot has no item or several.
        var item: String?
        /// The properties of that item; nil if they were not read, because a record in LocalData's format needs none.
        var properties: SecretServiceClient.Item?
        /// The unlocked default collection, in which the item of an absent slot is created.
        var collection: String?
        /// The unique bus name of the daemon that these paths belong to; nil if the slot was not read.
        var keeper: String?

        /// Whether the slot's item was created but never received its content.
        var isTorn: Bool { if case .corrupt(let corruption) = probe { corruption.bytes.isEmpty } else { false } }
    }

    /// Reads slots without a prompt, and reports *absent* only with proof.
    ///
    /// The proof has three steps: a search finds no item of the slot, then the default collection exists and is
    /// unlocked, then a second search finds the same as the first one. If the keyring is locked, missing or
    /// unreachable, the result is not *absent*.
    struct SlotReader {
        let client: SecretServiceClient
        let layout: ItemLayout
        let directory: KeyringsDirectory

        /// The maximum number of attempts if the keyring changes during a read.
        private static let attempts = 4

        /// Reads slots with valid addresses. Returns one view (content and item) for each slot, in order.
        func look(at addresses: [StorageAddress]) throws(KeyringFault) -> [SlotView] {
            var views: [StorageAddress: SlotView] = [:]
            for (namespace, group) in Dictionary(grouping: Set(addresses), by: \.namespace) {
                for (address, view) in try look(at: group, in: namespace) { views[address] = view }
            }
            let keeper = try client.link.keeper(client.call)
            for address in views.keys { views[address]?.keeper = keeper }
            return addresses.map { address in
                views[address] ?? SlotView(probe: .unavailable(BackendError(.failed, "The slot was not read. Report this fault.")))
            }
        }

        /// Lists the slots of a namespace that are not empty.
        /// - Parameter besideLocks: Whether to list the slots although another collection than the default one is
        ///   locked and has items of the namespace. If not, the call throws in this case.
        /// - Returns: The slots, and the paths of the locked items whose names cannot be read.
        func slots(
            in namespace: StorageNamespace, besideLocks: Bool
        ) throws(KeyringFault) -> (addresses: [StorageAddress], nameless: [String]) {
            try Self.untilUnchanged { () throws(KeyringFault) in
                let found = try client.search(layout.search(namespace))
                guard besideLocks || found.locked.isEmpty else { throw KeyringFault(.locked, "locked items") }
                switch try client.defaultCollection() {
                case .locked: throw KeyringFault(.locked, "the default collection")
                case .none where found.unlocked.isEmpty && found.locked.isEmpty: throw KeyringFault(.noBus, directory.noCollection)
                case .none, .unlocked: break
                }
                let again = try client.search(layout.search(namespace))
                guard Set(again.locked) == Set(found.locked), Set(again.unlocked) == Set(found.unlocked) else {
                    throw KeyringFault(.vanished, "items changed")
                }
                var addresses: Set<StorageAddress> = []
                var nameless: [String] = []
                for path in found.unlocked + found.locked {
                    let attributes = try attributes(of: path, isLocked: found.locked.contains(path))
                    if let address = layout.address(of: attributes, in: namespace) {
                        addresses.insert(address)
                    } else if attributes[layout.nameAttribute] == nil, found.locked.contains(path) {
                        // gnome-keyring has only hashes of the attributes until the collection is unlocked for the first
                        // time after its start. oo7 never returns the attributes of a locked item.
                        nameless.append(path)
                    }
                }
                return (addresses.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }, nameless)
            }
        }

        /// Returns the attributes of an item; none if it is locked and the daemon refuses to return them.
        private func attributes(of path: String, isLocked: Bool) throws(KeyringFault) -> [String: String] {
            do throws(KeyringFault) {
                return try client.describe(path).attributes
            } catch {
                guard isLocked, error.kind == .refused else { throw error }
                return [:]
            }
        }

        private func look(at group: [StorageAddress], in namespace: StorageNamespace) throws(KeyringFault) -> [StorageAddress: SlotView] {
            if group.count > 1 {
                let found = try client.search(layout.search(namespace))
                // One search for the whole namespace is cheaper, unless most of the items that it finds were not
                // requested. It is not used if it finds a locked item, because the attributes of that item may be
                // unknown.
                if found.locked.isEmpty, found.unlocked.count <= 2 * group.count + 2 {
                    return try Self.untilUnchanged { () throws(KeyringFault) in
                        try self.views(of: Set(group), searching: layout.search(namespace), in: namespace)
                    }
                }
            }
            var views: [StorageAddress: SlotView] = [:]
            for address in group {
                let one = try Self.untilUnchanged { () throws(KeyringFault) in
                    try self.views(of: [address], searching: layout.search(address), in: namespace)
                }
                views.merge(one) { $1 }
            }
            return views
        }

        /// Makes one attempt to read slots. A single search must find the items of all these slots.
        private func views(
            of wanted: Set<StorageAddress>, searching attributes: [String: String], in namespace: StorageNamespace
        ) throws(KeyringFault) -> [StorageAddress: SlotView] {
            let found = try client.search(attributes)
            guard found.locked.isEmpty else {
                if wanted.count > 1 { throw KeyringFault(.vanished, "items were locked during the read") }
                return Dictionary(uniqueKeysWithValues: wanted.map { ($0, SlotView(probe: .locked)) })
            }
            if wanted.count == 1, let address = wanted.first, let view = try recordView(found) { return [address: view] }
            var items: [StorageAddress: [SecretServiceClient.Item]] = [:]
            for path in found.unlocked {
                let item = try client.describe(path)
                guard !item.isLocked else { throw KeyringFault(.vanished, "an item was locked during the read") }
                if let address = layout.address(of: item.attributes, in: namespace), wanted.contains(address) {
                    items[address, default: []].append(item)
                }
            }
            var views = try values(items)
            let empty = wanted.filter { items[$0] == nil }
            if !empty.isEmpty {
                let view = try Self.emptyView(confirming: found, attributes, client, noCollection: directory.noCollection)
                for address in empty { views[address] = view }
            }
            return views
        }

        /// Returns the view of the only item that a search found, if its secret is a record in LocalData's format. Only
        /// LocalData writes such a secret, so the attributes of the item need not be read. Nil for any other item.
        ///
        /// Also nil if the daemon is not gnome-keyring: another daemon may find items whose attributes are similar to
        /// those of the search, but not equal.
        private func recordView(_ found: SecretServiceClient.Found) throws(KeyringFault) -> SlotView? {
            guard !layout.style.isInterop, found.unlocked.count == 1, let path = found.unlocked.first,
                try client.link.isKeptByGnome(client.call)
            else { return nil }
            guard var secret = try client.secrets([path])[path] else { throw KeyringFault(.vanished, "an item without a readable secret") }
            defer { wipe(&secret) }
            return KeyringPayload.record(secret).map { SlotView(probe: $0, item: path) }
        }

        /// Returns the views of slots that have items.
        private func values(_ items: [StorageAddress: [SecretServiceClient.Item]]) throws(KeyringFault) -> [StorageAddress: SlotView] {
            var single = items.compactMapValues { $0.count == 1 ? $0.first : nil }
            for (address, all) in items where all.count > 1 && !layout.style.isInterop { single[address] = try client.newest(of: all) }
            var secrets = try client.secrets(single.values.map(\.path))
            defer { for path in single.values.map(\.path) { wipe(&secrets[path, default: []]) } }
            var views: [StorageAddress: SlotView] = [:]
            for (address, all) in items {
                guard let item = single[address] else {
                    views[address] = SlotView(probe: .unavailable(ambiguous(address, all.count)))
                    continue
                }
                guard let secret = secrets[item.path] else { throw KeyringFault(.vanished, "an item without a readable secret") }
                let revision = KeyringPayload.revision(path: item.path, modified: item.modified, secret: secret)
                // gnome-keyring saves a new item twice, first without its secret. After a crash in between, the item
                // has an empty secret, which is not a value. If the style is LocalData's format, this applies only to
                // items with LocalData's schema.
                let isTorn = secret.isEmpty && (layout.style.isInterop || item.attributes["xdg:schema"] == ItemLayout.schema)
                let probe: StorageProbe =
                    isTorn
                    ? .corrupt(
                        StorageCorruption(bytes: [], revision: revision, reason: "the item was created, but its content was never stored"))
                    : KeyringPayload.probe(secret, isInterop: layout.style.isInterop, revision: revision)
                views[address] = SlotView(probe: probe, item: item.path, properties: item)
            }
            return views
        }

        /// Returns the view of a slot for which a search found no item. The result is *absent* only with proof.
        static func emptyView(
            confirming found: SecretServiceClient.Found, _ attributes: [String: String], _ client: SecretServiceClient,
            noCollection: @autoclosure () -> String
        ) throws(KeyringFault) -> SlotView {
            let (collection, again) = try client.defaultCollectionAndSearch(attributes)
            switch collection {
            case .none: return SlotView(probe: .unavailable(BackendError(.unavailable, noCollection())))
            case .locked: return SlotView(probe: .locked)
            case .unlocked(let path):
                guard again.locked.isEmpty, Set(again.unlocked) == Set(found.unlocked) else {
                    throw KeyringFault(.vanished, "items changed")
                }
                return SlotView(probe: .absent, collection: path)
            }
        }

        private func ambiguous(_ address: StorageAddress, _ count: Int) -> BackendError {
            BackendError(
                .ambiguous,
                "\(count) items of the keyring match \(address) of the service \(layout.service). Nothing is read or written until only one is left: "
                    + "list them with secret-tool search --all, keep the right one and delete the others in a keyring program such as Seahorse."
            )
        }

        /// Repeats a read if the keyring changed during it, up to the maximum number of attempts.
        static func untilUnchanged<Answer>(_ look: () throws(KeyringFault) -> Answer) throws(KeyringFault) -> Answer {
            var attempt = 1
            while true {
                do throws(KeyringFault) {
                    return try look()
                } catch {
                    guard error.kind == .vanished, attempt < Self.attempts else { throw error }
                    attempt += 1
                }
            }
        }
    }
#endif
