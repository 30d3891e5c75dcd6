package import BackendContract

/// The keys of one program's sources, each fetched once, and the rule when a new one may be made.
///
/// A key is made only if the source holds none, none was ever recorded, and nothing sealed is found: a missing key is never replaced.
package actor SealingKeys {
    /// Records, beside the data, which key a source gave, so that a missing key is not mistaken for a first start.
    package struct Pins: Sendable {
        /// What the key that a source gave before is known by, or nil.
        package var recorded: @Sendable (_ source: String) async throws(BackendError) -> KeyIdentity?
        /// Records what a source's key is known by, durably.
        package var record: @Sendable (_ key: KeyIdentity, _ source: String) async throws(BackendError) -> Void

        /// What the keys of all sources that were ever recorded are known by.
        package var all: @Sendable () async throws(BackendError) -> Set<KeyIdentity>

        /// Creates pins from closures.
        package init(
            recorded: @escaping @Sendable (_ source: String) async throws(BackendError) -> KeyIdentity?,
            record: @escaping @Sendable (_ key: KeyIdentity, _ source: String) async throws(BackendError) -> Void,
            all: @escaping @Sendable () async throws(BackendError) -> Set<KeyIdentity>
        ) {
            self.recorded = recorded
            self.record = record
            self.all = all
        }

        /// Records nothing: only the contents of the stores show that there must be a key.
        package static let none = Pins(
            recorded: { (_) throws(BackendError) in nil }, record: { (_, _) throws(BackendError) in },
            all: { () throws(BackendError) in [] })
    }

    private let pins: Pins
    private let randomBytes: @Sendable (Int) -> [UInt8]
    private var known: [String: SealingKey] = [:]
    /// The sources of the known keys.
    private var sources: [String: any KeySource] = [:]
    /// Whether no key may be fetched or used.
    private var isLocked = false
    /// The sources whose key is recorded and may seal.
    private var settled: Set<String> = []
    /// The callers that wait for a key that is being fetched: a passphrase is asked for once, and a key derived from it once.
    private var fetching: [String: [CheckedContinuation<Result<SealingKey?, BackendError>, Never>]] = [:]
    /// The callers that wait while one finds out whether a source's first key may be made: the stores are searched once, not once for each
    /// of a thousand writers.
    private var settling: [String: [CheckedContinuation<Void, Never>]] = [:]

    /// Creates an empty set of keys.
    package init(pins: Pins, randomBytes: @escaping @Sendable (Int) -> [UInt8]) {
        self.pins = pins
        self.randomBytes = randomBytes
    }

    /// The key of a source, for opening: never makes one, and records nothing, so that a wrong key that was only tried is not taken for the
    /// right one.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` when there is none; `encryptionKeyMismatch` when it is not the recorded one.
    package func existing(from source: any KeySource) async throws(BackendError) -> SealingKey {
        if let key = known[source.identifier] { return key }
        guard let key = try await load(source) else { throw missing(source) }
        if let recorded = try await pins.recorded(source.identifier) { try compare(key, recorded, source) }
        return try keep(key, source)
    }

    /// The key of a source, for sealing: makes a first one if the rule above allows it.
    /// - Parameters:
    ///   - source: The source.
    ///   - sealedIDs: The ids of the keys that sealed what the store holds that is about to be written; asked only while no key of the
    ///     source is recorded.
    /// - Throws: ``BackendError``, as ``existing(from:)``.
    package func forSealing(
        from source: any KeySource, sealedIDs: @Sendable () async throws(BackendError) -> Set<[UInt8]>
    ) async throws(BackendError) -> SealingKey {
        let name = source.identifier
        if settled.contains(name), let key = known[name] { return key }
        await takeTurn(name)
        defer { passTurn(name) }
        if settled.contains(name), let key = known[name] { return key }
        if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
        var key = try await load(source)
        if let recorded = try await pins.recorded(name) {
            // Another process may have made the key and recorded it between the two reads.
            if key == nil { key = try await load(source) }
            guard let key else { throw missing(source) }
            try compare(key, recorded, source)
            return try settle(key, source)
        }
        // Keys of other sources may have sealed what is there. One that is recorded nowhere may have been this source's.
        let sealed = try await sealedIDs()
        let unrecorded = sealed.subtracting(try await pins.all().map(\.id))
        if let key {
            guard unrecorded.isEmpty || sealed.contains(key.id) else { throw mismatch(key, unrecorded.first ?? [], source) }
        } else {
            guard unrecorded.isEmpty else { throw missing(source) }
            key = try await source.create(.random(randomBytes))
        }
        guard let key else { throw missing(source) }
        // Another process may have made it a moment ago, and it may not be durable yet.
        try await source.synchronize()
        try await pins.record(key.identity, name)
        return try settle(key, source)
    }

    /// The key of a source from now on, where what it held before is lost: what the source holds now, or a new key. It is recorded in place of the
    /// lost one. Only for data that another key has opened.
    /// - Throws: ``BackendError``.
    package func replacement(from source: any KeySource) async throws(BackendError) -> SealingKey {
        let name = source.identifier
        await takeTurn(name)
        defer { passTurn(name) }
        let key: SealingKey
        if let present = try await load(source) { key = present } else { key = try await source.create(.random(randomBytes)) }
        try await source.synchronize()
        try await pins.record(key.identity, name)
        return try settle(key, source)
    }

    private func takeTurn(_ name: String) async {
        guard settling[name] != nil else { return settling[name] = [] }
        await withCheckedContinuation { settling[name, default: []].append($0) }
    }

    private func passTurn(_ name: String) {
        guard let next = settling[name]?.first else { return settling[name] = nil }
        settling[name]?.removeFirst()
        next.resume()
    }

    /// What a source holds, fetched by the first of those who ask at the same time.
    private func load(_ source: any KeySource) async throws(BackendError) -> SealingKey? {
        let name = source.identifier
        try requireUnlocked()
        while fetching[name] != nil {
            let result = await withCheckedContinuation { fetching[name, default: []].append($0) }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            // If the caller that fetched it was cancelled, the next one fetches it.
            if case .failure(let error) = result, error.code == .cancelled { continue }
            return try result.get()
        }
        fetching[name] = []
        let result: Result<SealingKey?, BackendError>
        do throws(BackendError) { result = .success(try await source.load()) } catch { result = .failure(error) }
        for waiting in fetching.removeValue(forKey: name) ?? [] { waiting.resume(returning: result) }
        return try result.get()
    }

    /// The key of a source if it was fetched before: no source is asked.
    func fetched(from source: any KeySource) -> SealingKey? { known[source.identifier] }

    /// Forgets a source's key that was found to be the wrong one: it is fetched again when it is next needed.
    package func forget(_ source: any KeySource) {
        known[source.identifier] = nil
        sources[source.identifier] = nil
        settled.remove(source.identifier)
    }

    /// Forgets the keys whose source is locked by now.
    package func forgetLocked() async {
        for source in sources.values where await source.isLocked() { forget(source) }
    }

    /// Forgets every key, and gives none until ``unlock()``.
    package func lock() {
        isLocked = true
        forgetAll()
    }

    /// Lets keys be fetched again.
    /// - Returns: Whether they were locked.
    @discardableResult
    package func unlock() -> Bool {
        defer { isLocked = false }
        return isLocked
    }

    private func requireUnlocked() throws(BackendError) {
        if isLocked { throw BackendError(.locked, "The program has locked its keys. Unlock it and try again; nothing was changed.") }
    }

    /// Forgets every key: their memory is overwritten when the last call that works with one has ended.
    package func forgetAll() {
        known = [:]
        sources = [:]
        settled = []
    }

    /// Keeps a key in memory, unless keys were locked while it was fetched.
    private func keep(_ key: SealingKey, _ source: any KeySource) throws(BackendError) -> SealingKey {
        try requireUnlocked()
        known[source.identifier] = key
        sources[source.identifier] = source
        return key
    }

    private func settle(_ key: SealingKey, _ source: any KeySource) throws(BackendError) -> SealingKey {
        let key = try keep(key, source)
        settled.insert(source.identifier)
        return key
    }

    private func compare(_ key: SealingKey, _ recorded: KeyIdentity, _ source: any KeySource) throws(BackendError) {
        if key.identity != recorded { throw mismatch(key, recorded.id, source) }
    }

    private func mismatch(_ key: SealingKey, _ other: [UInt8], _ source: any KeySource) -> BackendError {
        BackendError(
            .encryptionKeyMismatch,
            "The key in \(source.identifier) is \(hexadecimalText(of: key.id)); this program's data was sealed with \(other == key.id ? "another one of the same id" : hexadecimalText(of: other)). Restore that key; nothing was changed."
        )
    }

    private func missing(_ source: any KeySource) -> BackendError {
        BackendError(
            .encryptionKeyMissing,
            "There is no key in \(source.identifier), and something was already sealed with it. Restore the key; a new one is never made beside existing data."
        )
    }
}
