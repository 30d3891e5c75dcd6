extension StorageKey {
    /// This key, taking its value from a legacy location if it is not yet in its own. Call it repeatedly for several locations; the order is that of preference.
    /// - Parameters:
    ///   - source: The legacy location.
    ///   - id: The migration's name in the ledger; derived from both places when not given.
    ///   - options: What the migration may do beyond the safe default.
    public func moved(from source: StorageKey<Value>, id: String? = nil, options: MigrationOptions = MigrationOptions()) -> Self {
        adding { AnyStorageMigration(MigrationStep.moving(to: $0, from: .key(source), id: id, options: options)) }
    }

    /// This key, taking its value from a legacy location and another shape.
    /// - Parameters:
    ///   - source: The legacy location. It may be this very place: then a value that does not decode is transformed in place.
    ///   - id: The migration's name in the ledger.
    ///   - options: What the migration may do beyond the safe default.
    ///   - transform: Makes the new value. It may run again after a crash, so it must not invent identities.
    public func moved<Source>(
        from source: StorageKey<Source>, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Value
    ) -> Self {
        adding {
            AnyStorageMigration(MigrationStep.transforming(to: $0, from: source, id: id, options: options, transform))
        }
    }

    /// This key, taking its value from a legacy location, which is kept up to date for programs of an earlier release: one that still runs, or runs again after a roll-back, reads and
    /// writes the truth there.
    ///
    /// While the window is open, each change is written to the key's place first, durably, and then to the legacy location. What an earlier release writes or removes there is found by
    /// the next read. When the window is over, a sweep empties the legacy location. See `Docs/MigrationGuide.md`, "Rolling out and rolling back".
    /// - Parameters:
    ///   - source: The legacy location. It protects the value as well as the key's own place does, unless the options say
    ///     ``MigrationOptions/keepsWeakerCopy``.
    ///   - window: How long it is kept up to date.
    ///   - id: The migration's name in the ledger; derived from both places when not given.
    ///   - options: What the migration may do beyond the safe default.
    public func moved(
        from source: StorageKey<Value>, keeping window: ReleaseWindow, id: String? = nil, options: MigrationOptions = MigrationOptions()
    ) -> Self {
        adding(keeping: window) {
            AnyStorageMigration(
                MigrationStep.moving(to: $0, from: .key(source), id: id, options: options)
                    .keeping(MirroredSource(window: window, down: { $0 }, changesShape: false, merge: nil)))
        }
    }

    /// This key, taking its value from a legacy location and another shape, which is kept up to date for programs of an earlier release: see
    /// ``moved(from:keeping:id:options:)``.
    ///
    /// The older shape has to tell everything that the newer one does, or `merge` has to be given: without it, a value for which `transform(down(value))` is another value is refused
    /// with `encodingFailed`, and nothing is changed.
    /// - Parameters:
    ///   - source: The legacy location. It is another place than the key's own.
    ///   - window: How long it is kept up to date.
    ///   - id: The migration's name in the ledger.
    ///   - options: What the migration may do beyond the safe default.
    ///   - transform: Makes the new value. It may run again after a crash, so it must not invent identities.
    ///   - down: Makes the older value that an earlier release reads.
    ///   - merge: Makes one value of what an earlier release wrote, in the newer shape, and of the newer value that it wrote over.
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

    /// This key, beginning with a copy of another key's value if it is not in its own place yet. The other key keeps its value: nothing of it is ever changed or removed. The
    /// copy is made once: later changes of the other key are not seen, and a copy that was removed does not come back.
    /// - Parameters:
    ///   - source: The other key. It may be in use, by this program too.
    ///   - id: The migration's name in the ledger; derived from both places when not given.
    ///   - options: What the migration may do beyond the safe default.
    public func copied(from source: StorageKey<Value>, id: String? = nil, options: MigrationOptions = MigrationOptions()) -> Self {
        adding { AnyStorageMigration(MigrationStep.moving(to: $0, from: .key(source), id: id, options: options).keepingSources) }
    }

    /// This key, beginning with a copy of another key's value, in another shape.
    /// - Parameters:
    ///   - source: The other key. It may be in use, by this program too, but is not this very place.
    ///   - id: The migration's name in the ledger; derived from both places when not given.
    ///   - options: What the migration may do beyond the safe default.
    ///   - transform: Makes the value of the copy. It may run again after a crash, so it must not invent identities.
    public func copied<Source>(
        from source: StorageKey<Source>, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Value
    ) -> Self {
        adding {
            AnyStorageMigration(MigrationStep.transforming(to: $0, from: source, id: id, options: options, transform).keepingSources)
        }
    }

    /// This key, made of several older values.
    /// - Parameters:
    ///   - sources: The legacy locations.
    ///   - id: The migration's name in the ledger.
    ///   - options: What the migration may do beyond the safe default.
    ///   - combine: Makes the value of what was found, nil for what is absent; returns nil to wait. Not called while everything is absent.
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
