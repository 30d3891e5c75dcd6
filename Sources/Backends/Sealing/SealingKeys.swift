public import BackendContract

/// The keys of one program's sources, each fetched once, and the rule when a new one may be made.
///
/// A key is made only where none is, none was ever recorded, and nothing sealed is there: a missing key never becomes a new one.
public actor SealingKeys {
    /// Remembers, beside the data, which key a source gave: a missing key is then told from a first start.
    public struct Pins: Sendable {
        /// The id of the key that a source gave before, or nil.
        public var recorded: @Sendable (_ source: String) async throws(BackendError) -> [UInt8]?
        /// Records the id, durably.
        public var record: @Sendable (_ id: [UInt8], _ source: String) async throws(BackendError) -> Void

        /// Creates pins from two closures.
        public init(
            recorded: @escaping @Sendable (_ source: String) async throws(BackendError) -> [UInt8]?,
            record: @escaping @Sendable (_ id: [UInt8], _ source: String) async throws(BackendError) -> Void
        ) {
            self.recorded = recorded
            self.record = record
        }
    }

    private let pins: Pins
    private let randomBytes: @Sendable (Int) -> [UInt8]
    private var known: [String: SealingKey] = [:]

    /// Creates an empty set of keys.
    public init(pins: Pins, randomBytes: @escaping @Sendable (Int) -> [UInt8]) {
        self.pins = pins
        self.randomBytes = randomBytes
    }

    /// The key of a source, for opening: never makes one.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` when there is none; `encryptionKeyMismatch` when it is not the recorded one.
    public func existing(from source: any KeySource) async throws(BackendError) -> SealingKey {
        if let key = known[source.identifier] { return key }
        guard let key = try await source.load() else { throw missing(source) }
        return try await adopt(key, from: source)
    }

    /// The key of a source, for sealing: makes a first one if nothing speaks against it.
    /// - Parameters:
    ///   - source: The source.
    ///   - holdsSealedData: Whether the store that is about to be written holds anything sealed; asked only before a key would be made.
    /// - Throws: ``BackendError``, as ``existing(from:)``.
    public func forSealing(
        from source: any KeySource, holdsSealedData: @Sendable () async throws(BackendError) -> Bool
    ) async throws(BackendError) -> SealingKey {
        if let key = known[source.identifier] { return key }
        if let key = try await source.load() { return try await adopt(key, from: source) }
        if try await pins.recorded(source.identifier) != nil { throw missing(source) }
        if try await holdsSealedData() { throw missing(source) }
        return try await adopt(try await source.create(.random(randomBytes)), from: source)
    }

    private func adopt(_ key: SealingKey, from source: any KeySource) async throws(BackendError) -> SealingKey {
        if let pinned = try await pins.recorded(source.identifier) {
            guard pinned == key.id else {
                throw BackendError(
                    .encryptionKeyMismatch,
                    "The key in \(source.identifier) is \(hexadecimalText(of: key.id)); this program's data was sealed with \(hexadecimalText(of: pinned)). Restore that key; nothing was changed."
                )
            }
        } else {
            try await pins.record(key.id, source.identifier)
        }
        known[source.identifier] = key
        return key
    }

    private func missing(_ source: any KeySource) -> BackendError {
        BackendError(
            .encryptionKeyMissing,
            "There is no key in \(source.identifier), and something was already sealed with it. Restore the key; a new one is never made beside existing data."
        )
    }
}
