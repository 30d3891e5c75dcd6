extension StorageKey {
    /// Returns this key with a legacy location: another slot, where earlier versions of the program stored the value.
    /// If the slot of this key (the destination) is empty, the router moves the value to it. Call this several times
    /// for several legacy locations, in the order of preference.
    ///
    /// ```swift
    /// let token = StorageKey<String>(name: "api-token", domain: .keychain)
    ///     .moved(from: StorageKey(name: "apiToken", domain: .userDefaults))
    /// do {
    ///     signIn(with: try await storage.get(token))  // the first call moves the token to the keyring
    /// } catch StorageError.locked {
    ///     // The keyring is locked. The token is still in the user defaults.
    /// }
    /// ```
    /// - Parameters:
    ///   - source: The legacy location.
    ///   - id: The migration's name in the migration ledger, which records the migrations on this machine; by default
    ///     it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    public func moved(from source: StorageKey<Value>, id: String? = nil, options: MigrationOptions = MigrationOptions()) -> Self {
        adding { AnyStorageMigration(MigrationStep.moving(to: $0, from: .key(source), id: id, options: options)) }
    }

    /// Returns this key with a legacy location whose value has another type.
    ///
    /// ```swift
    /// let timeout = StorageKey<Int>(name: "timeout", domain: .userDefaults)
    ///     .moved(from: StorageKey<String>(name: "timeoutText", domain: .userDefaults)) { text in
    ///         guard let seconds = Int(text) else { throw CocoaError(.formatting) }  // `migrationFailed`; the text stays
    ///         return seconds
    ///     }
    /// ```
    /// - Parameters:
    ///   - source: The legacy location. It may be the key's own slot. The router then transforms a value there that
    ///     does not decode as the key's type.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Returns the new value. It may run again after a crash, so it must not generate random
    ///     identifiers.
    public func moved<Source>(
        from source: StorageKey<Source>, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Value
    ) -> Self {
        adding {
            AnyStorageMigration(MigrationStep.transforming(to: $0, from: source, id: id, options: options, transform))
        }
    }

    /// Returns this key with a legacy location that a release window keeps up to date for programs of an earlier
    /// release.
    ///
    /// While the window is open, an earlier release of the program can still run, or run again after a rollback. It
    /// reads and writes the current value in the legacy location. Each change of this key is committed durably to the
    /// destination first, and then to the legacy location. If an earlier release writes or removes the value there, the
    /// next read of this key applies that change.
    ///
    /// When the window is over, a sweep (``StorageRouter/sweep(_:progress:)``) empties the legacy location. See
    /// <doc:TwoReleases>.
    ///
    /// ```swift
    /// let both = StorageKey<String>(name: "api-token", domain: .keychain(service: "com.example.notes"))
    ///     .moved(from: StorageKey(name: "token", domain: .keychain(service: "notes")), keeping: .until(version: "3.0"))
    /// ```
    /// - Parameters:
    ///   - source: The legacy location. It must protect the value as well as the destination does, unless the options
    ///     contain ``MigrationOptions/keepsWeakerCopy``.
    ///   - window: The time during which the legacy location is kept up to date.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    public func moved(
        from source: StorageKey<Value>, keeping window: ReleaseWindow, id: String? = nil, options: MigrationOptions = MigrationOptions()
    ) -> Self {
        adding(keeping: window) {
            AnyStorageMigration(
                MigrationStep.moving(to: $0, from: .key(source), id: id, options: options)
                    .keeping(MirroredSource(window: window, down: { $0 }, changesShape: false, merge: nil)))
        }
    }

    /// Returns this key with a legacy location of another type that a release window keeps up to date for programs of
    /// an earlier release.
    ///
    /// See ``moved(from:keeping:id:options:)``. If the older type cannot represent everything that the newer one can,
    /// pass `merge`. Without `merge`, the router refuses a value for which `transform(down(value))` differs from the
    /// value. The error is `encodingFailed`, and nothing is changed.
    ///
    /// ```swift
    /// let size = StorageKey<[Int]>(name: "size", domain: .userDefaults)
    ///     .moved(from: StorageKey<Int>(name: "width", domain: .userDefaults), keeping: .for(days: 30)) { width in
    ///         [width, 600]
    ///     } down: { size in
    ///         size.first ?? 800
    ///     } merge: { older, newer in
    ///         [older[0], newer.last ?? 600]  // release 1 has changed the width, and does not have the height
    ///     }
    /// ```
    /// - Parameters:
    ///   - source: The legacy location. It must not be the key's own slot.
    ///   - window: The time during which the legacy location is kept up to date.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Returns the new value. It may run again after a crash, so it must not generate random
    ///     identifiers.
    ///   - down: Converts a newer value to the older one that an earlier release reads.
    ///   - merge: Combines the value that an earlier release wrote, converted to the newer type, with the newer value
    ///     that it overwrote.
    public func moved<Source>(
        from source: StorageKey<Source>, keeping window: ReleaseWindow, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Value, down: @escaping @Sendable (Value) throws -> Source,
        merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)? = nil
    ) -> Self {
        adding(keeping: window) {
            AnyStorageMigration(
                MigrationStep.transforming(to: $0, from: source, id: id, options: options, transform)
                    .keeping(MirroredSource(window: window, down: { try down($0) }, changesShape: true, merge: merge)))
        }
    }

    /// Returns this key with another key whose value is copied if this key has none. The value of the other key is
    /// never changed or removed.
    ///
    /// The copy is made once. Later changes of the other key are not copied, and a copy that was removed is not made
    /// again.
    ///
    /// ```swift
    /// let backupFolder = StorageKey<String>(name: "backup.folder", domain: .userDefaults)
    ///     .copied(from: StorageKey(name: "export.folder", domain: .userDefaults))
    /// ```
    /// - Parameters:
    ///   - source: The other key. The program may use it at the same time.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    public func copied(from source: StorageKey<Value>, id: String? = nil, options: MigrationOptions = MigrationOptions()) -> Self {
        adding { AnyStorageMigration(MigrationStep.moving(to: $0, from: .key(source), id: id, options: options).keepingSources) }
    }

    /// Returns this key with another key of another type whose value is copied if this key has none.
    ///
    /// ```swift
    /// let limit = StorageKey<Double>(name: "limit", domain: .userDefaults)
    ///     .copied(from: StorageKey<Int>(name: "quota", domain: .userDefaults)) { quota in Double(quota) }
    /// ```
    /// - Parameters:
    ///   - source: The other key. The program may use it at the same time. It must not have the slot of this key.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Returns the value of the copy. It may run again after a crash, so it must not generate random
    ///     identifiers.
    public func copied<Source>(
        from source: StorageKey<Source>, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Value
    ) -> Self {
        adding {
            AnyStorageMigration(MigrationStep.transforming(to: $0, from: source, id: id, options: options, transform).keepingSources)
        }
    }

    /// Returns this key with several legacy locations whose values are combined into one.
    ///
    /// ```swift
    /// let fullName = StorageKey<String>(name: "fullName", domain: .userDefaults)
    ///     .merged(
    ///         from: StorageKey<String>(name: "first", domain: .userDefaults), StorageKey<String>(name: "last", domain: .userDefaults)
    ///     ) { first, last in
    ///         guard let first, let last else { return nil }  // wait for the other value
    ///         return "\(first) \(last)"
    ///     }
    /// ```
    /// - Parameters:
    ///   - sources: The legacy locations.
    ///   - id: The migration's name in the migration ledger; by default it is derived from the key's name.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - combine: Returns the combined value. It receives nil for each absent value. It returns nil to wait for more
    ///     values. It is not called while all values are absent.
    public func merged<each Source: Codable & Sendable>(
        from sources: repeat StorageKey<each Source>, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        by combine: @escaping @Sendable (repeat (each Source)?) throws -> Value?
    ) -> Self {
        adding { [keys = (repeat each sources)] destination in
            AnyStorageMigration(
                MigrationStep.aggregating(to: destination, from: repeat each keys, id: id, options: options, combine))
        }
    }
}
