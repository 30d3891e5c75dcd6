#if Hummingbird
    import BackendContract
    import BackendRuntime
    import Crypto
    import Foundation
    public import Hummingbird
    public import LocalData
    import Logging
    import ServiceLifecycle

    /// A Hummingbird `PersistDriver` that stores values in a domain of a router, by default in an encrypted database.
    ///
    /// Use it for sessions and other values of requests that must survive a restart of the server.
    ///
    /// ```swift
    /// let sessions = StoragePersistDriver(storage)
    /// try await sessions.create(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
    /// let app = Application(router: router, services: [sessions])  // also purges expired sessions
    /// ```
    ///
    /// The clock of the router decides whether a value has expired. In the domain `.postgreSQL`, that is the clock of the
    /// server. An expired value is absent to every call.
    ///
    /// A key may be a secret, such as the id of a session. The driver stores the SHA-256 of the key instead of the key.
    /// So no file and no error contains a key. Keys must be unpredictable to benefit from this: a guess can be confirmed.
    /// An encrypted database also replaces this digest by a keyed hash, and encrypts the value. In a property list, the
    /// value is readable.
    ///
    /// The driver does not shut the router down.
    public struct StoragePersistDriver: PersistDriver {
        private let storage: StorageRouter
        private let tidyInterval: Duration?
        /// The collection of the values.
        let values: StorageCollection<PersistedValue>

        /// Creates a driver. Nothing is opened.
        /// - Parameters:
        ///   - storage: The router.
        ///   - domain: The domain that stores the values.
        ///   - collection: The name of the collection of the values. Two drivers with the same domain and collection share
        ///     their values, also in different processes.
        ///   - tidyInterval: The time between two calls of ``tidy()`` while ``run()`` runs; nil for no calls. If the clock of the
        ///     router may be wrong, pass nil and sweep a catalog with ``catalogEntry``, which keeps an expired value for a day.
        public init(
            _ storage: StorageRouter, domain: StorageDomain = .encryptedSQLite(database: "sessions"), collection: String = "persist",
            tidyInterval: Duration? = .seconds(600)
        ) {
            (self.storage, self.tidyInterval) = (storage, tidyInterval)
            values = StorageCollection(
                collection, domain: domain, description: "Values of Hummingbird's persist driver", typeTag: "PersistedValue"
            ) { $0.id }
        }

        /// The values of the driver, as an entry of a catalog.
        ///
        /// A router that requires registration needs it in a registered catalog. A sweep of the catalog also purges expired
        /// values, at the earliest a day after a sweep first found them expired.
        ///
        /// ```swift
        /// struct ServerKeys: StorageKeyCatalog {
        ///     let sessions: StoragePersistDriver
        ///     var allKeys: [AnyStorageKey] { [sessions.catalogEntry] }
        /// }
        /// ```
        public var catalogEntry: AnyStorageKey { .collection(values) }

        // MARK: Values

        /// Stores a value if the key has none. The value is durable when the call returns.
        ///
        /// ```swift
        /// do {
        ///     try await sessions.create(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
        /// } catch let error as PersistError where error == .duplicate {
        ///     print("Another request has created this session.")
        /// }
        /// ```
        ///
        /// If several tasks or processes create one key at once, exactly one of them succeeds.
        /// - Parameters:
        ///   - key: The key.
        ///   - value: The value.
        ///   - expires: The time from now on during which the value is valid, exact to the microsecond; nil for ever.
        /// - Throws: `PersistError.duplicate` if the key has a value that has not expired. ``StorageError``;
        ///   `encodingFailed` if the value cannot be encoded as JSON.
        @concurrent
        public func create<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
            let entry = try PersistedValue(value, id: Self.id(of: key))
            let slot = values.key(entry.id)
            try await storage.update(expires.map { slot.expiring(after: $0) } ?? slot) { present in
                if present != nil { throw PersistError.duplicate }
                present = entry
            }
        }

        /// Stores a value, and replaces the value that the key has. The value is durable when the call returns.
        ///
        /// ```swift
        /// try await sessions.set(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
        /// ```
        /// - Parameters:
        ///   - key: The key.
        ///   - value: The value. It may have another type than the previous one.
        ///   - expires: The time from now on during which the value is valid, exact to the microsecond. Nil keeps the time of
        ///     expiry of the value that is replaced; without such a value, or if it has expired, the new value never expires.
        /// - Throws: ``StorageError``: `encodingFailed` if the value cannot be encoded as JSON; `corrupted` if `expires` is nil
        ///   and the stored value is damaged.
        @concurrent
        public func set<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
            let entry = try PersistedValue(value, id: Self.id(of: key))
            let slot = values.key(entry.id)
            if let expires {
                try await storage.set(entry, for: slot, lifetime: expires)
            } else {
                // An update keeps the time of expiry.
                try await storage.update(slot) { $0 = entry }
            }
        }

        /// Gets the value of a key, or nil if there is none or it has expired.
        ///
        /// The name of the type is stored with the value. To rename the type of a session, end the sessions first.
        ///
        /// ```swift
        /// do {
        ///     print(try await sessions.get(key: sessionID, as: Session.self)?.user ?? "There is no session.")
        /// } catch let error as PersistError where error == .invalidConversion {
        ///     print("Another type is stored under this key.")
        /// }
        /// ```
        /// - Parameters:
        ///   - key: The key.
        ///   - type: The type of the value.
        /// - Throws: `PersistError.invalidConversion` if a type with another name was stored, or if the value does not decode
        ///   as this type. ``StorageError``.
        @concurrent
        public func get<Object: Codable & Sendable>(key: String, as type: Object.Type) async throws -> Object? {
            try await storage.value(for: values.key(Self.id(of: key)))?.decoded(as: type)
        }

        /// Gets the value of a key with the time until it expires, or nil if there is no value or it has expired.
        ///
        /// ```swift
        /// if let found = try await sessions.getWithTTL(key: sessionID, as: Session.self) {
        ///     print(found.object.user, found.ttl.map { "expires in \($0)" } ?? "never expires")
        /// }
        /// ```
        /// - Parameters:
        ///   - key: The key.
        ///   - type: The type of the value.
        /// - Returns: The value, and the remaining time; nil for a value that never expires.
        /// - Throws: The errors of ``get(key:as:)``.
        @concurrent
        public func getWithTTL<Object: Codable & Sendable>(
            key: String, as type: Object.Type
        ) async throws -> (object: Object, ttl: Duration?)? {
            let stored = try await storage.storedValue(for: values.key(Self.id(of: key)))
            guard let stored, !stored.isExpired else { return nil }
            let object = try stored.value.decoded(as: type)
            guard let expiry = stored.expiresAt else { return (object, nil) }
            let rest = expiry.timeIntervalSince1970 - storage.configuration.runtime.clock.wallSeconds
            return (object, .seconds(max(0, rest)))
        }

        /// Removes the value of a key. If there is none, the call does nothing. The removal is durable when it returns.
        ///
        /// ```swift
        /// try await sessions.remove(key: sessionID)  // does nothing if there is no session
        /// ```
        /// - Parameter key: The key.
        /// - Throws: ``StorageError``.
        @concurrent
        public func remove(key: String) async throws {
            try await storage.remove(values.key(Self.id(of: key)))
        }

        /// Returns the id of the record that has the value of a key: the SHA-256 of the key.
        static func id(of key: String) -> String { hexadecimalText(of: SHA256.hash(data: Data(key.utf8))) }

        // MARK: Expired values

        /// Purges the expired values. Unlike a sweep, it keeps no expired value for another day. So if the clock is ahead, it
        /// also purges values that would be valid after a correction of the clock.
        ///
        /// ```swift
        /// print(try await sessions.tidy(), "expired sessions were purged")
        /// ```
        ///
        /// A value that is set during the call stays. A graceful shutdown ends the call early.
        /// - Returns: The number of purged values.
        /// - Throws: ``StorageError``. Values that were purged before the error remain purged.
        @concurrent
        @discardableResult
        public func tidy() async throws -> Int { try await ExpiredRecords(storage, in: values).purge() }

        /// Calls ``tidy()`` at each interval, on the clock of the router, until a graceful shutdown or a cancellation.
        ///
        /// If a call fails, the router's logger receives a notice, and the next call tries again.
        ///
        /// ```swift
        /// let sessions = StoragePersistDriver(storage)
        /// try await sessions.create(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
        /// let app = Application(router: router, services: [sessions])  // also purges expired sessions
        /// ```
        @concurrent
        public func run() async throws {
            let clock = storage.configuration.runtime.clock
            let (ticks, timer) = AsyncStream.makeStream(of: Void.self)
            let schedule: @Sendable () -> ScheduledAction? = { [tidyInterval] in
                tidyInterval.map { interval in clock.schedule(at: clock.now.advanced(by: interval)) { _ = timer.yield() } }
            }
            await withTaskCancellationOrGracefulShutdownHandler {
                var next = schedule()
                for await _ in ticks {
                    await tidyOrLog()
                    next = schedule()
                }
                next?.cancel()
            } onCancelOrGracefulShutdown: {
                timer.finish()
            }
        }

        private func tidyOrLog() async {
            do { try await tidy() } catch {
                if Task.isCancelled { return }
                let code = (error as? StorageError).map { "\($0.code)" } ?? "\(type(of: error))"
                storage.configuration.logger.notice(
                    "Expired values could not be purged.", metadata: ["event": "localdata.tidy_failed", "code": "\(code)"])
            }
        }
    }

    /// A value with the name of its type.
    struct PersistedValue: Codable, Sendable {
        /// The id of the record: see ``StoragePersistDriver/id(of:)``.
        var id: String
        /// The name of the value's type.
        var type: String
        /// The value as JSON.
        var json: String

        /// Encodes a value.
        /// - Throws: ``StorageError`` with `encodingFailed`. It does not contain the encoder's error, which may contain the
        ///   value.
        init<Value: Encodable>(_ value: Value, id: String) throws {
            (self.id, type) = (id, "\(Value.self)")
            guard let data = try? JSONEncoder().encode(value) else {
                throw StorageError(
                    StorageError.encodingFailed, key: id,
                    "A value of the type \(Value.self) cannot be encoded as JSON. Nothing was changed.")
            }
            json = String(decoding: data, as: UTF8.self)
        }

        /// Decodes the value.
        /// - Throws: `PersistError.invalidConversion` if it is not of this type.
        func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
            guard self.type == "\(Value.self)", let value = try? JSONDecoder().decode(type, from: Data(json.utf8)) else {
                throw PersistError.invalidConversion
            }
            return value
        }
    }
#endif
