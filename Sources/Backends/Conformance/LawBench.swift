public import BackendContract

/// The setup for checking the laws, the rules that every backend must keep.
///
/// Its closures create a backend, and change the backend's store as another program or a fault would. A bench with more
/// closures is checked by more laws.
///
/// ```swift
/// let bench = LawBench(
///     name: "dictionary", capabilities: ByteStoreBackend(DictionaryStore()).capabilities,
///     makeStore: { ByteStoreBackend(DictionaryStore()) })
/// ```
public struct LawBench: Sendable, CustomStringConvertible {
    /// The name of the backend, for reports.
    public var name: String
    /// The capabilities that the backends of this bench claim.
    public var capabilities: BackendCapabilities
    /// How much work a check does: 1 is the usual amount, and 0.2 is a fifth of it. Use 0.2 for a store that takes tens
    /// of milliseconds for a write.
    public var scale: Double
    /// Creates a backend over a new, empty store.
    public var makeStore: @Sendable () async throws -> any StorageBackend
    /// Creates another backend over the store of a given backend, as a new process would. Nil if the store does not
    /// outlive its backend.
    public var reopen: (@Sendable (any StorageBackend) async throws -> any StorageBackend)?
    /// Writes a text into a slot (the location of one value), as a program without LocalData does. Nil if only
    /// LocalData can write to the store.
    public var writeForeign: (@Sendable (any StorageBackend, StorageAddress, String) async throws -> Void)?
    /// Changes the value of a slot to a text, but keeps the metadata of the old value in the store. Nil if the store
    /// cannot have this state.
    public var changeBehindMetadata: (@Sendable (any StorageBackend, StorageAddress, String) async throws -> Void)?
    /// Damages the stored bytes of a value, so that the backend cannot decode them. Nil if that cannot be done.
    public var corrupt: (@Sendable (any StorageBackend, StorageAddress) async throws -> Void)?
    /// Searches for traces that names such as "../up" left outside the store, for instance files beside its folder.
    /// Returns a description of a trace, or nil if there is none.
    public var findStrayTraces: (@Sendable (any StorageBackend) async throws -> String?)?

    /// Creates a bench. If a closure is omitted, the laws whose checks need this closure do not apply to the bench.
    public init(
        name: String, capabilities: BackendCapabilities, scale: Double = 1,
        makeStore: @escaping @Sendable () async throws -> any StorageBackend,
        reopen: (@Sendable (any StorageBackend) async throws -> any StorageBackend)? = nil,
        writeForeign: (@Sendable (any StorageBackend, StorageAddress, String) async throws -> Void)? = nil,
        changeBehindMetadata: (@Sendable (any StorageBackend, StorageAddress, String) async throws -> Void)? = nil,
        corrupt: (@Sendable (any StorageBackend, StorageAddress) async throws -> Void)? = nil,
        findStrayTraces: (@Sendable (any StorageBackend) async throws -> String?)? = nil
    ) {
        self.name = name
        self.capabilities = capabilities
        self.scale = scale
        self.makeStore = makeStore
        self.reopen = reopen
        self.writeForeign = writeForeign
        self.changeBehindMetadata = changeBehindMetadata
        self.corrupt = corrupt
        self.findStrayTraces = findStrayTraces
    }

    /// The name of the backend.
    public var description: String { name }

    /// The abilities that this bench has.
    public var abilities: Set<BackendLaw.Need> {
        var abilities: Set<BackendLaw.Need> = []
        if reopen != nil { abilities.insert(.reopening) }
        if writeForeign != nil { abilities.insert(.foreignWriter) }
        if changeBehindMetadata != nil { abilities.insert(.strandedMetadata) }
        if corrupt != nil { abilities.insert(.damage) }
        return abilities
    }

    /// Returns a number of repetitions that suits the store: the usual number times ``scale``, but at least `least`.
    public func count(_ usual: Int, atLeast least: Int = 2) -> Int { max(least, Int(Double(usual) * scale)) }
}

extension LawBench {
    /// Returns another backend over the store of a given backend. Laws that need ``BackendLaw/Need/reopening`` call
    /// this.
    func reopened(_ store: any StorageBackend) async throws -> any StorageBackend {
        guard let reopen else { throw LawViolation(expected: "a bench that can reopen a store", found: "one that cannot") }
        return try await reopen(store)
    }

    func writeForeign(_ text: String, at address: StorageAddress, in store: any StorageBackend) async throws {
        guard let writeForeign else { throw LawViolation(expected: "a bench with a foreign writer", found: "one without") }
        try await writeForeign(store, address, text)
    }

    func changeBehindMetadata(_ text: String, at address: StorageAddress, in store: any StorageBackend) async throws {
        guard let changeBehindMetadata else { throw LawViolation(expected: "a bench that can strand metadata", found: "one that cannot") }
        try await changeBehindMetadata(store, address, text)
    }

    func corrupt(_ address: StorageAddress, in store: any StorageBackend) async throws {
        guard let corrupt else { throw LawViolation(expected: "a bench that can damage a slot", found: "one that cannot") }
        try await corrupt(store, address)
    }
}
