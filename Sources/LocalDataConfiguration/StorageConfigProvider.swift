#if Configuration
    public import Configuration
    public import LocalData
    import Logging
    import Synchronization

    /// A provider for swift-configuration whose values are in the stores of a router.
    ///
    /// Use it if a program reads its settings with swift-configuration, and some of them are secrets in the keyring or
    /// settings in the user defaults.
    ///
    /// ```swift
    /// let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(.apiToken)])
    /// let config = ConfigReader(providers: [EnvironmentVariablesProvider(), provider])
    /// let port = config.int(forKey: "http.port", default: 8080)  // the entry http.port of the user defaults
    /// do { print(try await config.fetchRequiredString(forKey: "api.token").count, port) } catch StorageError.locked {
    ///     print("The keyring is locked, so the token is unknown. It is not reported as absent.")
    /// }
    /// ```
    ///
    /// The name of a configuration key is its components, joined by dots. The context of the key is ignored. A name in
    /// the dictionary `keys` leads to that storage key only. Any other name leads to the entry of the same name in the
    /// first domain that has one. The default value of a storage key is not used.
    ///
    /// A value is a secret unless it is stored unencrypted. Secrets are marked, so access logs do not contain them.
    ///
    /// The provider keeps the values that it has read in memory, and *get* returns them. *fetch* reads the store.
    /// *watch* follows the store, and keeps the values in memory up to date while it runs. If a store is locked or
    /// cannot be reached, the last value that was read stays in memory. If a value was never read, *get* throws the
    /// error of its store. It never reports such a value as absent.
    ///
    /// Numbers and booleans are converted if the result is exact, as in swift-configuration's `PropertyListSnapshot`. A
    /// value of another type is `undecodable`, and a text is never a number. Bytes are data, a Base64 text, or a list of
    /// numbers up to 255.
    ///
    /// A lookup with a default returns the default for any error of a provider. Use a `required` function where the program
    /// must notice that a store is locked.
    ///
    /// | call | value in memory | store can be read | store is locked or cannot be reached |
    /// |---|---|---|---|
    /// | `init` | none | reads all values | succeeds, and logs a warning for each value that was not read |
    /// | *get*, ``snapshot()`` | any | returns the value in memory, which may be old | returns the value in memory |
    /// | *get*, ``snapshot()`` | never read, or forgotten | throws the error of the last attempt | throws it too |
    /// | *fetch* | any | returns the stored value, and keeps it in memory | throws; the value in memory stays |
    /// | ``reload()`` | any | replaces all values in one step | replaces the values that it can read, and throws the first error |
    /// | *watch* | read | sends it, and then each change | sends it, and the next value after ``reload()``, *fetch* or a reported change |
    /// | *watch* | never read, or forgotten | sends the error, and then the stored value | sends the error, and the value once it was read |
    /// | ``forgetSecrets()`` | a secret | removes it from memory | removes it from memory |
    ///
    /// The provider never unlocks a store. The program does so, and then reloads:
    ///
    /// ```swift
    /// do { try await provider.reload() } catch StorageError.locked {
    ///     try await storage.unlock(.keychain)  // may open a prompt
    ///     try await provider.reload()
    /// }
    /// ```
    ///
    /// A value that is sealed under a passphrase or a portal's key may ask for it, as in any read. Watches receive the
    /// changes of this process, and those of other programs when the store reports them. The functions that watch one key
    /// also follow an entry that does not exist yet.
    public final class StorageConfigProvider: ConfigProvider {
        /// The name of the provider in access reports.
        public let providerName: String
        let reader: SettingReader
        let state: Mutex<ProviderState>

        /// Creates a provider, and reads the values.
        ///
        /// A value that cannot be read does not make this call fail: it is logged, and *get* throws its error. To fail
        /// instead, call ``reload()`` next.
        /// - Parameters:
        ///   - storage: The router.
        ///   - name: A name that distinguishes several providers in access reports; nil for none.
        ///   - domains: The domains whose entries are values. If several of them have an entry of the same name, the
        ///     first one counts. If the router requires registration, only registered keys are read.
        ///   - keys: The storage keys of further values, by the names of their configuration keys.
        /// - Throws: ``StorageError``: `unsupported` if a key is a collection; `cancelled`.
        public init(
            _ storage: StorageRouter, name: String? = nil, domains: [StorageDomain] = [.userDefaults], keys: [String: AnyStorageKey] = [:]
        ) async throws {
            if let collection = keys.first(where: { $0.value.collection != nil }) {
                throw StorageError(
                    .unsupported, key: collection.key, "A collection is not a configuration value. Use the key of a single value.")
            }
            let providerName = name.map { "StorageConfigProvider[\($0)]" } ?? "StorageConfigProvider"
            self.providerName = providerName
            reader = SettingReader(storage: storage, domains: domains, keys: keys)
            state = Mutex(ProviderState(StorageConfigSnapshot(providerName: providerName, domains: domains.count)))
            try await load()
        }

        /// Reads every value again. The new values replace the former ones in one step.
        ///
        /// ```swift
        /// do { try await provider.reload() } catch StorageError.locked {
        ///     try await storage.unlock(.keychain)  // may open a prompt
        ///     try await provider.reload()
        /// }
        /// ```
        ///
        /// If a value cannot be read, its former value stays. The other values are replaced nevertheless, and the call
        /// then throws. An entry of a domain that has no readable form, such as a sealed one, is not an error.
        ///
        /// If a watch stopped following a value because its store could not be read, it follows the value again as soon as
        /// this call has read it.
        /// - Throws: ``StorageError``: the error of the first value that could not be read, such as `locked`;
        ///   `cancelled`, with nothing replaced.
        public func reload() async throws {
            if let failure = try await load().first { throw failure }
        }

        /// Removes the secrets from this provider, for example after the program has locked its storage.
        ///
        /// Until a secret is read again, *get* throws `locked` for it. Snapshots that were returned before keep their
        /// values.
        ///
        /// ```swift
        /// _ = try await storage.lock()
        /// provider.forgetSecrets()  // the program has locked its storage, so the provider must not keep the secrets
        /// ```
        public func forgetSecrets() {
            change { state in state.snapshot.forgetSecrets(state.next()) }
        }

        /// Reads every value.
        /// - Returns: The errors of the values that could not be read.
        @discardableResult
        private func load() async throws -> [StorageError] {
            let number = state.withLock { $0.next() }
            let reading = try await reader.readAll()
            change { $0.snapshot.take(reading, number) }
            wake(reading.states.keys)
            for failure in reading.failures { report(failure) }
            return reading.failures.map(\.error)
        }

        /// Reads one value.
        private func fetch(_ slot: SettingSlot) async throws -> SettingState {
            let number = state.withLock { $0.next() }
            let found = try await reader.read(slot)
            change { $0.snapshot.put(found, at: slot, number) }
            wake(CollectionOfOne(slot))
            return found
        }

        /// Logs that a value could not be read. The message contains no value and no name of an entry.
        func report(_ failure: SettingFailure) {
            let domain = reader.domain(of: failure)?.description ?? "unknown"
            reader.storage.configuration.logger.warning(
                "A configuration value could not be read. Its former value stays.",
                metadata: [
                    "event": "localdata.config_unreadable", "provider": "\(providerName)", "domain": "\(domain)",
                    "code": "\(failure.error.code)",
                ])
        }

        // MARK: ConfigProvider

        /// Returns the value of a key in memory.
        /// - Throws: ``StorageError``: `undecodable` if the value has another type; the error of the store, such as
        ///   `locked`, if the value was never read.
        public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            try current.value(forKey: key, type: type)
        }

        /// Reads the value of a key from its store, and keeps it in memory.
        ///
        /// ```swift
        /// let port = try await config.fetchInt(forKey: "http.port", default: 8080)  // reads the store; throws if it is locked
        /// ```
        /// - Throws: ``StorageError``: the error of the store, such as `locked`, with the value in memory unchanged;
        ///   `undecodable` if the value has another type.
        public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
            var found = SettingState.absent
            for slot in reader.slots(named: key.settingName) {
                found = try await fetch(slot)
                if found != .absent { break }
            }
            return try found.lookUp(key, as: type)
        }

        /// Returns the values in memory.
        ///
        /// ```swift
        /// let values = provider.snapshot()  // later changes of the stores are not in it
        /// print(values.providerName)
        /// ```
        public func snapshot() -> any ConfigSnapshot { current }

        /// Passes the value of a key in memory, and then each later value, to a closure.
        ///
        /// A store that is locked or cannot be reached sends no update. The sequence contains an error only if the value
        /// was never read, or if it has another type.
        ///
        /// ```swift
        /// try await config.watchInt(forKey: "http.port", default: 8080) { ports in
        ///     for await port in ports { print("The port is now \(port).") }
        /// }
        /// ```
        /// - Throws: The errors of the closure.
        public func watchValue<Return: ~Copyable>(
            forKey key: AbsoluteConfigKey, type: ConfigType,
            updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
        ) async throws -> Return {
            let name = key.settingName
            let slots = reader.slots(named: name)
            let (stream, continuation) = AsyncStream.makeStream(
                of: Result<LookupResult, any Error>.self, bufferingPolicy: .bufferingNewest(1))
            let number = beginWatch(slots) { old, new in
                if let old, old.state(named: name) == new.state(named: name) { return }
                continuation.yield(Result { try new.value(forKey: key, type: type) })
            }
            defer { endWatch(number, slots) }
            return try await updatesHandler(ConfigUpdatesAsyncSequence(stream))
        }

        /// Passes the values in memory, and then the values after each change, to a closure.
        ///
        /// The watch follows the storage keys, and the entries that the domains had when the provider last read them.
        /// An entry with a new name is in the snapshot after ``reload()``.
        ///
        /// ```swift
        /// try await provider.watchSnapshot { snapshots in
        ///     for await _ in snapshots { print("A value has changed.") }
        /// }
        /// ```
        /// - Throws: The errors of the closure.
        public func watchSnapshot<Return: ~Copyable>(
            updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
        ) async throws -> Return {
            let slots = reader.keySlots + current.entrySlots
            let (stream, continuation) = AsyncStream.makeStream(of: (any ConfigSnapshot).self, bufferingPolicy: .bufferingNewest(1))
            let number = beginWatch(slots) { _, new in continuation.yield(new) }
            defer { endWatch(number, slots) }
            return try await updatesHandler(ConfigUpdatesAsyncSequence(stream))
        }
    }

    // MARK: Descriptions

    extension StorageConfigProvider: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The name of the provider, and the number of its values. It contains no value.
        public var description: String { current.description }
        /// The name of the provider, and the names of its values. It contains no value.
        public var debugDescription: String { current.debugDescription }
        /// The names of the values. It contains no value.
        public var customMirror: Mirror { Mirror(self, children: ["names": current.names]) }
    }
#endif
