#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import Synchronization
    import CLibSecret

    /// The requests of the Secret Service that a store needs, with Swift types. Source of the interfaces: Secret
    /// Service specification 0.2 (freedesktop.org).
    ///
    /// Reading opens no prompt. If gnome-keyring answers a change with a prompt, the prompt is dismissed, and the
    /// fault is `locked`. If another daemon does so, the prompt is performed: KeePassXC creates and deletes items
    /// that way. ``unlock(_:)`` opens the prompt that the daemon requires.
    struct SecretServiceClient {
        let link: SecretLink
        let call: BusCall
        /// Whether the read of a secret that is not text fails, so that the caller repeats it in another session. Such
        /// a secret may have been decrypted with a wrong key. Secrets of gnome-keyring are always accepted.
        var suspectsBinarySecrets = false

        /// The result of a search.
        struct Found {
            var unlocked: [String]
            var locked: [String]

            init(unlocked: [String], locked: [String]) { (self.unlocked, self.locked) = (unlocked, locked) }

            /// Creates a result from the reply to `SearchItems`.
            init(_ reply: Variant) {
                self.init(unlocked: reply[0]?.texts ?? [], locked: reply[1]?.texts ?? [])
            }
        }

        /// The properties of an item other than its secret.
        struct Item {
            var path: String
            /// Empty if the item is locked and the daemon does not return the attributes of locked items.
            var attributes: [String: String]
            var label: String
            var modified: UInt64
            var isLocked: Bool

            /// The path of the item's collection.
            var collection: String { SecretServiceClient.collection(of: path) }

            /// The number at the end of the path; nil if there is none.
            var number: Int? { Int(lastComponent(of: path)) }
        }

        /// Returns the path of an item's collection.
        static func collection(of item: String) -> String { parentDirectory(of: item) }

        /// The state of the default collection.
        enum DefaultCollection: Equatable {
            case none
            case locked(String)
            case unlocked(String)
        }

        static let root = "/org/freedesktop/secrets"
        static let service = "org.freedesktop.Secret.Service"
        private static let collection = "org.freedesktop.Secret.Collection"
        private static let item = "org.freedesktop.Secret.Item"
        private static let properties = "org.freedesktop.DBus.Properties"
        static let nothing = "/"
        /// How many seconds beyond the caller's deadline to wait for the reply to a change.
        private static let finishing: Int64 = 25

        // MARK: Reading

        /// Returns the paths of the items that have at least these attributes, in every collection and with any
        /// schema.
        /// - Throws: ``KeyringFault`` with `locked` if a search would open a prompt. KeePassXC asks for the password
        ///   of a locked database during a search, and replies only after the user has answered.
        func search(_ attributes: [String: String]) throws(KeyringFault) -> Found {
            if try !link.isKeptByGnome(call), case .locked = try defaultCollection() {
                throw KeyringFault(.locked, "the default collection")
            }
            let found = try find(attributes)
            guard !found.locked.isEmpty, try unlockSilently(found.locked) else { return found }
            return try find(attributes)
        }

        private func find(_ attributes: [String: String]) throws(KeyringFault) -> Found {
            let reply = try link.request(
                Self.root, Self.service, "SearchItems", Outgoing.tuple(Outgoing.dictionary(attributes)), reply: "(aoao)", call)
            return Found(reply)
        }

        /// Returns the default collection, and then the result of a search.
        ///
        /// gnome-keyring handles requests in the order in which they arrive. So all three are sent at once if the
        /// default collection is unlocked and still the one that was read last.
        func defaultCollectionAndSearch(_ attributes: [String: String]) throws(KeyringFault) -> (DefaultCollection, Found) {
            if let latest = link.latestCollection.withLock(\.self), try link.isKeptByGnome(call) {
                let replies: [Variant]
                do throws(KeyringFault) {
                    replies = try link.requests(
                        [
                            SecretLink.Request(
                                path: Self.root, interface: Self.service, method: "ReadAlias",
                                arguments: Outgoing.tuple(Outgoing.text("default")), reply: "(o)"),
                            SecretLink.Request(
                                path: latest, interface: Self.properties, method: "Get",
                                arguments: Outgoing.tuple(Outgoing.text(Self.collection), Outgoing.text("Locked")), reply: "(v)"),
                            SecretLink.Request(
                                path: Self.root, interface: Self.service, method: "SearchItems",
                                arguments: Outgoing.tuple(Outgoing.dictionary(attributes)), reply: "(aoao)"),
                        ], call)
                } catch {
                    guard error.kind == .vanished else { throw error }
                    replies = []
                }
                if replies.count == 3, replies[0][0]?.text == latest, replies[1][0]?.inner?.flag == false {
                    return (.unlocked(latest), Found(replies[2]))
                }
            }
            let collection = try defaultCollection()
            guard case .unlocked(let path) = collection else { return (collection, Found(unlocked: [], locked: [])) }
            link.latestCollection.withLock { $0 = path }
            return (collection, try search(attributes))
        }

        /// Returns the default collection, and whether it is locked.
        func defaultCollection() throws(KeyringFault) -> DefaultCollection {
            let reply = try link.request(
                Self.root, Self.service, "ReadAlias", Outgoing.tuple(Outgoing.text("default")), reply: "(o)", call)
            guard let path = reply[0]?.text else { throw KeyringFault(.refused, "no path in the reply") }
            guard path != Self.nothing else { return .none }
            let locked = try link.request(
                path, Self.properties, "Get", Outgoing.tuple(Outgoing.text(Self.collection), Outgoing.text("Locked")), reply: "(v)", call)
            guard let isLocked = locked[0]?.inner?.flag else { throw KeyringFault(.refused, "no lock state in the reply") }
            guard isLocked else { return .unlocked(path) }
            return try unlockSilently([path]) ? .unlocked(path) : .locked(path)
        }

        /// Returns an item's attributes, label, modification time and lock state.
        func describe(_ path: String) throws(KeyringFault) -> Item {
            let reply = try link.request(path, Self.properties, "GetAll", Outgoing.tuple(Outgoing.text(Self.item)), reply: "(a{sv})", call)
            let properties = reply[0]?.properties ?? [:]
            guard let isLocked = properties["Locked"]?.flag, let attributes = properties["Attributes"]?.dictionary ?? (isLocked ? [:] : nil)
            else { throw KeyringFault(.refused, "an item without attributes or lock state") }
            return Item(
                path: path, attributes: attributes, label: properties["Label"]?.text ?? "", modified: properties["Modified"]?.number ?? 0,
                isLocked: isLocked)
        }

        /// Returns the secrets of unlocked items. Secrets that cannot be read are left out.
        func secrets(_ paths: [String]) throws(KeyringFault) -> [String: [UInt8]] {
            var secrets: [String: [UInt8]] = [:]
            // Request the secrets in portions, so that a reply stays far below GIO's limit of 64 MiB for an array.
            for start in stride(from: 0, to: paths.count, by: 16) {
                let portion = Array(paths[start..<min(start + 16, paths.count)])
                let arguments = Outgoing.tuple(Outgoing.paths(portion), Outgoing.path(try link.sessionPath(call)))
                let reply = try link.request(Self.root, Self.service, "GetSecrets", arguments, reply: "(a{o(oayays)})", call)
                for entry in reply[0]?.children ?? [] {
                    guard let path = entry[0]?.text, let coded = entry[1] else { continue }
                    let secret = try link.decode(coded, call)
                    if suspectsBinarySecrets, String(validating: secret, as: UTF8.self) == nil {
                        guard try link.isGnomeKeyring(call) else { throw KeyringFault(.noSession, "a secret is no text") }
                    }
                    secrets[path] = secret
                }
            }
            return secrets
        }

        // MARK: Changing

        /// Creates a new item. Replaces an existing one only if that is requested.
        /// - Parameter isReplacing: Whether the new item takes the place of an item with these attributes. Some daemons
        ///   then remove every item of the collection that has at least these attributes.
        func create(
            _ secret: [UInt8], attributes: [String: String], label: String, in collection: String, isReplacing: Bool = false
        ) throws(KeyringFault) -> String {
            let properties = Outgoing.properties([
                ("\(Self.item).Label", Outgoing.text(label)), ("\(Self.item).Attributes", Outgoing.dictionary(attributes)),
            ])
            let arguments = Outgoing.tuple(properties, try link.encode(secret, call), Outgoing.flag(isReplacing))
            let reply = try link.request(
                collection, Self.collection, "CreateItem", arguments, reply: "(oo)", finishingWithin: Self.finishing, call)
            let made = try resultOfPrompt(reply[1]?.text)?.text ?? reply[0]?.text
            guard let made, made != Self.nothing else { throw KeyringFault(.refused, "no item in the reply") }
            return made
        }

        /// Replaces the secret of exactly this item.
        func replace(_ path: String, with secret: [UInt8]) throws(KeyringFault) {
            let arguments = Outgoing.tuple(try link.encode(secret, call))
            _ = try link.request(path, Self.item, "SetSecret", arguments, reply: "()", finishingWithin: Self.finishing, call)
        }

        /// Changes the secret of an item, so that the daemon writes it to its file.
        ///
        /// oo7 changes a secret only in memory. It writes its file when an item is created. Therefore its items are
        /// replaced by new ones with the same attributes and label.
        /// Reason: "On oo7, a change replaces the item" in Docs/Decisions/Keyring.md.
        /// - Returns: The path of the item, which may be a new one.
        func change(_ item: Item, to secret: [UInt8]) throws(KeyringFault) -> String {
            guard try isKeptByOo7(item) else {
                try replace(item.path, with: secret)
                return item.path
            }
            _ = try duplicates(of: item)
            return try create(secret, attributes: item.attributes, label: item.label, in: item.collection, isReplacing: true)
        }

        /// Deletes an item, and its duplicates in oo7 (``newest(of:)``).
        func delete(_ item: Item) throws(KeyringFault) {
            if try isKeptByOo7(item) {
                // The newest one is deleted last: no older content may be found in between.
                for path in try duplicates(of: item) { try delete(path) }
            }
            try delete(item.path)
        }

        /// Returns the newest of several items of one slot, if LocalData made all of them in oo7, with equal attributes;
        /// nil for any other items. Releases without support for oo7 made a new item for each change.
        /// Reason: "On oo7, the newest of equal items counts" in Docs/Decisions/Keyring.md.
        func newest(of items: [Item]) throws(KeyringFault) -> Item? {
            guard let first = items.first, first.attributes["xdg:schema"] == ItemLayout.schema, try isKeptByOo7(first),
                items.allSatisfy({ $0.attributes == first.attributes && $0.collection == first.collection && $0.number != nil })
            else { return nil }
            return items.max { ($0.number ?? 0) < ($1.number ?? 0) }
        }

        /// Returns whether oo7 keeps the item, as far as its attributes show.
        private func isKeptByOo7(_ item: Item) throws(KeyringFault) -> Bool {
            guard ItemLayout.isKeptByOo7(item.attributes) else { return false }
            return try !link.isKeptByGnome(call)
        }

        /// Returns the paths of the other items that have the attributes of an item, in the order in which they were made.
        /// They are in the same collection. oo7 removes them from its file together with this item.
        /// - Throws: ``KeyringFault`` with `shared` if such an item has further attributes, or if this item is not the
        ///   newest one. The kind is `vanished` if the item is no longer found.
        private func duplicates(of item: Item) throws(KeyringFault) -> [String] {
            let found = try search(item.attributes)
            let paths = (found.unlocked + found.locked).filter { Self.collection(of: $0) == item.collection }
            guard paths.contains(item.path) else { throw KeyringFault(.vanished, "an item was removed during the change") }
            if paths.count == 1 { return [] }
            var items: [Item] = []
            for path in paths { items.append(try describe(path)) }
            guard try newest(of: items)?.path == item.path else { throw KeyringFault(.shared, "\(paths.count - 1)") }
            return items.sorted { ($0.number ?? 0) < ($1.number ?? 0) }.map(\.path).filter { $0 != item.path }
        }

        /// Reads a new secret back, and throws if the daemon stored other bytes. Does nothing if the daemon is
        /// gnome-keyring.
        /// Reason: "Secrets are read back, except from gnome-keyring" in Docs/Decisions/Keyring.md.
        /// - Throws: ``KeyringFault`` with `garbled` if the bytes differ. The kind is `refused` if the daemon cannot
        ///   return a secret that it acknowledged (pass_secret_service without the key of GnuPG). An item that is
        ///   unreachable now, for example because it was locked, counts as stored.
        func requireKept(_ secret: [UInt8], in path: String) throws(KeyringFault) {
            var fault = KeyringFault(.garbled, "it keeps other bytes than it was given")
            do throws(KeyringFault) {
                if try link.isGnomeKeyring(call) { return }
                guard var kept = try secrets([path])[path] else { return }
                defer { wipe(&kept) }
                if kept == secret { return }
            } catch {
                switch error.kind {
                case .noSession: break
                case .refused: fault = KeyringFault(.refused, "it acknowledged the secret, but cannot return it: \(error.detail)")
                default: return
                }
            }
            fault.wasSent = true
            throw fault
        }

        /// Deletes the item with exactly this path.
        func delete(_ path: String) throws(KeyringFault) {
            let reply = try link.request(path, Self.item, "Delete", nil, reply: "(o)", finishingWithin: Self.finishing, call)
            _ = try resultOfPrompt(reply[0]?.text)
        }

        /// A daemon may answer a change with a prompt. Performs this prompt and returns its result; returns nil if
        /// there is no prompt.
        ///
        /// The prompt of gnome-keyring is dismissed, because only ``unlock(_:)`` unlocks collections.
        /// Reason: "KeePassXC makes changes by prompts" in Docs/Decisions/Keyring.md.
        private func resultOfPrompt(_ path: String?) throws(KeyringFault) -> Variant? {
            guard let path, path != Self.nothing else { return nil }
            if try link.isKeptByGnome(call) {
                _ = try? link.request(path, SecretLink.promptInterface, "Dismiss", nil, reply: "()", call)
                throw KeyringFault(.locked, "a prompt would be needed")
            }
            return try link.perform(path, call)
        }

        // MARK: Unlocking

        /// Unlocks collections whose password is blank, because gnome-keyring opens these without a prompt. Automatic
        /// login creates such a collection, and each start of the daemon locks it.
        ///
        /// If the daemon requires a prompt, the prompt is never performed, so no dialog appears. It is not dismissed
        /// either: gnome-keyring 42.1 crashes if a prompt is dismissed while another one is open. The daemon keeps
        /// the prompt until this program's link ends, so there is only one attempt for each link.
        /// - Returns: Whether the collections are unlocked.
        private func unlockSilently(_ paths: [String]) throws(KeyringFault) -> Bool {
            guard !link.needsPrompt.withLock(\.self), try link.isKeptByGnome(call) else { return false }
            let reply = try link.request(Self.root, Self.service, "Unlock", Outgoing.tuple(Outgoing.paths(paths)), reply: "(aoo)", call)
            if reply[1]?.text == Self.nothing { return true }
            link.needsPrompt.withLock { $0 = true }
            return false
        }

        /// Unlocks collections, or the collections of items. If the daemon requires a prompt, opens it and waits
        /// until it is answered.
        func unlock(_ paths: [String]) throws(KeyringFault) { try link.unlock(paths, call) }

        /// Returns whether the daemon is gnome-keyring and no program can show its prompts.
        func lacksPrompter() throws(KeyringFault) -> Bool {
            guard try link.isKeptByGnome(call), try link.owner(of: Self.prompter, call) == nil else { return false }
            let reply = try link.askBus("ListActivatableNames", nil, reply: "(as)", call)
            return reply[0]?.texts.contains(Self.prompter) != true
        }

        private static let prompter = "org.gnome.keyring.SystemPrompter"
    }
#endif
