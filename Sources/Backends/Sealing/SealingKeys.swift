package import BackendContract
package import BackendRuntime

/// The sealing keys of a program, each fetched once from its key source, such as a key file or an item in the keyring.
/// This actor also decides when a new key may be created.
///
/// A new key is created only if the source holds none, none was ever recorded for the source, and no data is found that
/// an unrecorded key sealed. Otherwise a missing key is an error: a new key could not open the existing data.
package actor SealingKeys {
    /// The pins: for each source, the recorded identity of its key. They are stored beside the data. If a source has a
    /// pin, a missing key is not mistaken for a first start.
    package struct Pins: Sendable {
        /// Returns the identity that was recorded for a source's key; nil if none was.
        package var recorded: @Sendable (_ source: String) async throws(BackendError) -> KeyIdentity?
        /// Records the identity of a source's key, durably.
        package var record: @Sendable (_ key: KeyIdentity, _ source: String) async throws(BackendError) -> Void

        /// Returns the identities of all keys that were ever recorded, of all sources.
        package var all: @Sendable () async throws(BackendError) -> Set<KeyIdentity>
        /// Takes over identities that an earlier release of the program recorded elsewhere since the last call. Returns
        /// whether there were any.
        package var renew: @Sendable () async throws(BackendError) -> Bool

        /// Whether these are the pins ``none``.
        fileprivate var recordsNothing = false

        /// Creates pins from closures.
        package init(
            recorded: @escaping @Sendable (_ source: String) async throws(BackendError) -> KeyIdentity?,
            record: @escaping @Sendable (_ key: KeyIdentity, _ source: String) async throws(BackendError) -> Void,
            all: @escaping @Sendable () async throws(BackendError) -> Set<KeyIdentity>,
            renew: @escaping @Sendable () async throws(BackendError) -> Bool = { () throws(BackendError) in false }
        ) {
            (self.recorded, self.record, self.all, self.renew) = (recorded, record, all, renew)
        }

        /// Pins that record nothing. Then only the contents of the stores show that a key must exist.
        package static let none: Pins = {
            var pins = Pins(
                recorded: { (_) throws(BackendError) in nil }, record: { (_, _) throws(BackendError) in },
                all: { () throws(BackendError) in [] })
            pins.recordsNothing = true
            return pins
        }()
    }

    private let pins: Pins
    private let uses: any KeyUses
    private let randomBytes: @Sendable (Int) -> [UInt8]
    /// The clock that decides when a source is asked again; nil if it never is.
    private let clock: (any RuntimeClock)?
    private var known: [String: SourceKeys] = [:]
    /// The sources of the keys in `known`.
    private var sources: [String: any KeySource] = [:]
    /// Whether the program has locked its keys, so that none may be fetched or used.
    private var isLocked = false
    /// The identifiers of the sources whose current key is recorded, so that it may seal.
    private var settled: Set<String> = []
    /// The time until which a source is assumed to hold the key that is in memory.
    private var trusted: [String: MonotonicInstant] = [:]
    /// For each source, the id of the key that this process seals with, and the record of this use. Other processes
    /// check the records before they destroy a key.
    private var used: [String: (id: [UInt8], use: any Sendable)] = [:]
    /// The records of the use of former keys. They are kept because data that these keys sealed may not be written yet.
    private var formerUses: [any Sendable] = []
    /// For each source, the callers that wait while another caller fetches the keys. So the user is asked for a
    /// passphrase once, and a key is derived once.
    private var fetching: [String: [CheckedContinuation<Result<SourceKeys?, BackendError>, Never>]] = [:]
    /// For each source, the callers that wait for their turn. One caller at a time decides whether a first key may be
    /// created. So the stores are searched once, and not once for each of a thousand writers.
    private var settling: [String: [CheckedContinuation<Void, Never>]] = [:]

    /// Creates an empty set of keys.
    /// - Parameter clock: The clock that decides when a source is asked whether it still holds its key, before more
    ///   data is sealed; nil for never.
    package init(
        pins: Pins, uses: any KeyUses = NoOtherUses(), clock: (any RuntimeClock)? = nil, randomBytes: @escaping @Sendable (Int) -> [UInt8]
    ) {
        (self.pins, self.uses, self.clock, self.randomBytes) = (pins, uses, clock, randomBytes)
    }

    /// Returns the keys of a source, for opening data. Never creates a key. Records nothing, so that a wrong key that
    /// was only tried is not taken for the right one.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` if there is none; `encryptionKeyMismatch` if the recorded key
    ///   is not among them.
    package func existing(from source: any KeySource) async throws(BackendError) -> SourceKeys {
        if let keys = known[source.identifier] { return keys }
        guard let keys = try await load(source) else { throw missing(source) }
        if let recorded = try await recorded(source, keys), !keys.contains(recorded) { throw mismatch(keys, recorded, source) }
        return try keep(keys, source)
    }

    /// Returns the recorded identity of a source's key; nil if none is recorded. If it is not among the present keys, an
    /// earlier release that runs beside this one may have recorded a later one.
    private func recorded(_ source: any KeySource, _ keys: SourceKeys?) async throws(BackendError) -> KeyIdentity? {
        let recorded = try await pins.recorded(source.identifier)
        guard let recorded, let keys, !keys.contains(recorded), try await pins.renew() else { return recorded }
        return try await pins.recorded(source.identifier)
    }

    /// Returns the keys of a source, like ``existing(from:)``. Fetches them again if another process has recorded another
    /// key since they were fetched. If that fails, the keys in memory stay.
    /// - Throws: ``BackendError``, like ``existing(from:)``.
    package func latest(from source: any KeySource) async throws(BackendError) -> SourceKeys {
        guard let present = known[source.identifier], let recorded = try await pins.recorded(source.identifier),
            recorded != present.current.identity
        else { return try await existing(from: source) }
        guard let keys = try await load(source) else { throw missing(source) }
        guard keys.contains(recorded) else { throw mismatch(keys, recorded, source) }
        // The new key seals only after this process has recorded its use.
        settled.remove(source.identifier)
        return try keep(keys, source)
    }

    /// Returns the key of a source, for opening data that any key with one of the given ids opens.
    ///
    /// If no key in memory has one of these ids, and another program has rotated the source's key, the keys are fetched
    /// again. Without pins, the keys are always fetched again, because no record shows whether the key was rotated. If
    /// there still is no such key, the result is the source's current key. Opening data with it then fails with an error
    /// that names the right key.
    /// - Parameters:
    ///   - ids: The ids of the keys that open the data.
    ///   - source: The source.
    /// - Throws: ``BackendError``, like ``existing(from:)``.
    package func key(for ids: [[UInt8]], from source: any KeySource) async throws(BackendError) -> SealingKey {
        let isKnown = known[source.identifier] != nil
        let keys = try await existing(from: source)
        func found(_ keys: SourceKeys) -> SealingKey? { keys.all.first { ids.contains($0.id) } }
        if let key = found(keys) { return key }
        guard isKnown else { return keys.current }
        if !pins.recordsNothing {
            guard let recorded = try await pins.recorded(source.identifier), recorded != keys.current.identity else { return keys.current }
        }
        forget(source)
        let others = try await existing(from: source)
        return found(others) ?? others.current
    }

    /// Returns the key of a source, for sealing. Creates a first key if the rule of ``SealingKeys`` allows it.
    /// - Parameters:
    ///   - source: The source.
    ///   - isForNewStore: Whether a new store will be created that only this key opens. Then the source is asked in any
    ///     case whether it still holds the key.
    ///   - sealedIDs: Returns the ids of the keys that sealed the present content of the store. Called only while no
    ///     key of the source is recorded.
    /// - Throws: ``BackendError``, like ``existing(from:)``. A key in memory that the source has lost does not seal any
    ///   more.
    package func forSealing(
        from source: any KeySource, isForNewStore: Bool = false, sealedIDs: @Sendable () async throws(BackendError) -> Set<[UInt8]>
    ) async throws(BackendError) -> SealingKey {
        let name = source.identifier
        if !isForNewStore, let key = trustedKey(name) { return key }
        await takeTurn(name)
        defer { passTurn(name) }
        if !isForNewStore, let key = trustedKey(name) { return key }
        if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
        if settled.contains(name), let key = known[name]?.current {
            if try await isHeld(key, by: source) { return key }
            // The source has lost the key, so no other process could open data that this key seals from now on. This
            // process can still open older data while the key is in memory.
            if try await pins.recorded(name) != nil { throw missing(source) }
            forget(source)
        }
        var (keys, isRecorded) = try await loaded(source)
        if let keys, isRecorded {
            try await makeRotationDurable(keys, source)
            return try await settle(keys, source).current
        }
        // Ignore keys that are recorded: they belong to other sources. A key that sealed existing data and is not
        // recorded may have been this source's key.
        let sealed = try await sealedIDs()
        let unrecorded = sealed.subtracting(try await pins.all().map(\.id))
        if let keys {
            guard unrecorded.isEmpty || keys.all.contains(where: { sealed.contains($0.id) }) else {
                throw mismatch(keys, KeyIdentity(id: unrecorded.first ?? [], commitment: []), source)
            }
        } else {
            // Reason: "A first key is created only where no sealed data exists" in Docs/Decisions/Keys.md.
            guard unrecorded.isEmpty else { throw missing(source) }
            keys = try await source.create(SourceKeys(only: .random(randomBytes)))
        }
        guard let keys else { throw missing(source) }
        // Another process may have created the key a moment ago, and it may not be durable yet.
        try await source.synchronize()
        return try await settle(keys, source).current
    }

    /// Returns the current key of a source, which seals. Nil if the source has not recently confirmed that it still
    /// holds this key.
    private func trustedKey(_ name: String) -> SealingKey? {
        guard settled.contains(name), let key = known[name]?.current else { return nil }
        if let clock, trusted[name].map({ clock.now >= $0 }) ?? true { return nil }
        return key
    }

    /// Returns whether a source still holds a key. True if the source cannot answer now, because that does not show
    /// that the key is lost.
    private func isHeld(_ key: SealingKey, by source: any KeySource) async throws(BackendError) -> Bool {
        let answer = await CallPatience.$limit.withValue(Self.patience) { () async -> Result<Bool, BackendError> in
            do throws(BackendError) { return .success(try await source.holds(key.identity)) } catch { return .failure(error) }
        }
        var trust = source.trust
        do throws(BackendError) {
            guard try answer.get() else { return false }
        } catch {
            if error.code == .cancelled { throw error }
            if error.code == .encryptionKeyMismatch { return false }
            trust = trust.map { max($0, Self.trustAfterFailure) }
        }
        self.trust(source, for: trust)
        return true
    }

    private func trust(_ source: any KeySource, for time: Duration?) {
        guard let clock else { return }
        trusted[source.identifier] = time.map { clock.now.advanced(by: $0) } ?? MonotonicInstant(nanoseconds: .max)
    }

    /// The time limit for a source to answer whether it holds a key. Data that is about to be sealed waits for the
    /// answer.
    /// Reason: "The source is asked again before more data is sealed" in Docs/Decisions/Keys.md.
    private static let patience = Duration.milliseconds(500)
    /// The time after which a source that could not answer is asked again.
    private static let trustAfterFailure = Duration.seconds(60)

    /// Returns the new key of a source whose former key is lost: the key that the source holds now, or one that is
    /// created. The call records it instead of the lost key. Call this only if another key, such as a recovery key, has
    /// opened the data.
    /// - Throws: ``BackendError``.
    package func replacement(from source: any KeySource) async throws(BackendError) -> SealingKey {
        let name = source.identifier
        await takeTurn(name)
        defer { passTurn(name) }
        let keys: SourceKeys
        if let present = try await load(source) {
            keys = present
        } else {
            keys = try await source.create(SourceKeys(only: .random(randomBytes)))
        }
        try await source.synchronize()
        return try await settle(keys, source, inPlaceOfLost: true).current
    }

    // MARK: Rotation

    /// Creates a new key in a source. It seals from now on, and the keys before it only open. If the source already
    /// holds several keys, no key is created: an earlier call was not finished, or an administrator has added the new
    /// key.
    /// - Returns: The keys of the source. They are durable there and recorded.
    /// - Throws: ``BackendError``, like ``existing(from:)`` and ``KeySource/replace(_:with:)``.
    package func rotate(_ source: any KeySource) async throws(BackendError) -> SourceKeys {
        let name = source.identifier
        await takeTurn(name)
        defer { passTurn(name) }
        guard var keys = try await loaded(source).keys else { throw neverMade(source) }
        if keys.others.isEmpty {
            let new = try keys.adding(.random(randomBytes))
            try await source.replace(keys, with: new)
            keys = new
        }
        try await source.synchronize()
        return try await settle(keys, source)
    }

    /// Reads the keys of a source again and records the one that seals. This process seals with it from now on.
    /// - Throws: ``BackendError``, like ``existing(from:)``.
    package func present(in source: any KeySource) async throws(BackendError) -> SourceKeys {
        await takeTurn(source.identifier)
        defer { passTurn(source.identifier) }
        guard let keys = try await loaded(source).keys else { throw neverMade(source) }
        try await makeRotationDurable(keys, source)
        return try await settle(keys, source)
    }

    /// Makes the current key of a source durable, if another call or process added the key and did not record it. That
    /// rotation may have been interrupted before the key was durable.
    private func makeRotationDurable(_ keys: SourceKeys, _ source: any KeySource) async throws(BackendError) {
        guard let recorded = try await pins.recorded(source.identifier), recorded != keys.current.identity else { return }
        try await source.synchronize()
    }

    /// Returns the ids of the source's decrypt-only keys that a running process may still seal with. Such a process has
    /// not read the source since its key was rotated.
    package func othersInUse(_ keys: SourceKeys) async throws(BackendError) -> [[UInt8]] {
        var used: [[UInt8]] = []
        for key in keys.others where try await uses.isUsed(key.id) { used.append(key.id) }
        return used
    }

    /// Destroys the decrypt-only keys of a source. Data that was sealed with these keys is lost.
    /// - Parameter keys: The keys that the source holds.
    /// - Throws: ``BackendError``, like ``KeySource/replace(_:with:)``.
    package func deleteOthers(_ keys: SourceKeys, of source: any KeySource) async throws(BackendError) {
        await takeTurn(source.identifier)
        defer { passTurn(source.identifier) }
        try await source.replace(keys, with: keys.withoutOthers)
        try await source.synchronize()
        _ = try await settle(keys.withoutOthers, source)
    }

    /// Returns the keys that a source holds now, and whether one of them is the recorded key. Throws if there is a
    /// recorded key that is not among them.
    ///
    /// The call first records that this process seals with the current key, so that no other process destroys the key.
    /// Then it reads the pin, which is the recorded identity of the source's key.
    /// Reason: "A process records its use of a key before it reads the pin" in Docs/Decisions/Keys.md.
    private func loaded(_ source: any KeySource) async throws(BackendError) -> (keys: SourceKeys?, isRecorded: Bool) {
        let name = source.identifier
        var attempt = 0
        while true {
            attempt += 1
            let keys = try await load(source)
            if let keys { try await use(keys.current, name) }
            guard let recorded = try await recorded(source, keys) else { return (keys, false) }
            if let keys, keys.contains(recorded) { return (keys, true) }
            // Another process may have created or rotated the key, and recorded it, after this call read the source.
            // Then read the source again.
            guard attempt < Self.attempts else {
                guard let keys else { throw missing(source) }
                throw mismatch(keys, recorded, source)
            }
        }
    }

    private static let attempts = 3

    /// Records that this process seals with a key, so that no other process destroys the key.
    private func use(_ key: SealingKey, _ name: String) async throws(BackendError) {
        if used[name]?.id == key.id { return }
        let use = try await uses.begin(key.id)
        if let before = used.updateValue((key.id, use), forKey: name) { formerUses.append(before.use) }
    }

    /// Ends the recorded uses of former keys. Call this only when no data that they sealed is still waiting for its
    /// write.
    package func endFormerUses() { formerUses = [] }

    /// Ends all recorded uses. Call this only when no sealed data is still waiting for its write. Later sealing records
    /// a new use.
    package func endUses() {
        settled = []
        (used, formerUses) = ([:], [])
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

    /// Returns the keys that a source holds. If several callers ask at the same time, the first one fetches them for
    /// all.
    private func load(_ source: any KeySource) async throws(BackendError) -> SourceKeys? {
        let name = source.identifier
        try requireUnlocked()
        while fetching[name] != nil {
            let result = await withCheckedContinuation { fetching[name, default: []].append($0) }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            // The caller that fetched the keys was cancelled, so the next caller fetches them.
            if case .failure(let error) = result, error.code == .cancelled { continue }
            return try result.get()
        }
        fetching[name] = []
        let result: Result<SourceKeys?, BackendError>
        do throws(BackendError) { result = .success(try await source.load()) } catch { result = .failure(error) }
        for waiting in fetching.removeValue(forKey: name) ?? [] { waiting.resume(returning: result) }
        return try result.get()
    }

    /// Returns the keys of a source if they were fetched before. Does not ask the source.
    func fetched(from source: any KeySource) -> SourceKeys? { known[source.identifier] }

    /// Forgets the keys of a source, because they are wrong or outdated. They are fetched again when they are next
    /// needed.
    package func forget(_ source: any KeySource) {
        known[source.identifier] = nil
        sources[source.identifier] = nil
        settled.remove(source.identifier)
    }

    /// Forgets the keys whose source is locked now.
    package func forgetLocked() async {
        for source in sources.values where await source.isLocked() { forget(source) }
    }

    /// Forgets all keys. Until ``unlock()``, every call that would fetch a key throws `locked`.
    package func lock() {
        isLocked = true
        forgetAll()
    }

    /// Allows keys to be fetched again.
    /// - Returns: Whether the keys were locked.
    @discardableResult
    package func unlock() -> Bool {
        defer { isLocked = false }
        return isLocked
    }

    private func requireUnlocked() throws(BackendError) {
        if isLocked { throw BackendError(.locked, "The program has locked its keys. Unlock it and try again; nothing was changed.") }
    }

    /// Forgets all keys. The memory of a key is overwritten when the last call that uses it has ended.
    package func forgetAll() {
        known = [:]
        sources = [:]
        settled = []
    }

    /// Keeps keys in memory. Throws if the keys were locked while these were fetched.
    private func keep(_ keys: SourceKeys, _ source: any KeySource) throws(BackendError) -> SourceKeys {
        try requireUnlocked()
        known[source.identifier] = keys
        sources[source.identifier] = source
        return keys
    }

    /// Records the current key of a source durably, unless it is recorded already. From then on the key may seal.
    /// - Parameter inPlaceOfLost: Whether the recorded key is lost. If so, the current key is recorded instead of it.
    private func settle(
        _ keys: SourceKeys, _ source: any KeySource, inPlaceOfLost: Bool = false
    ) async throws(BackendError) -> SourceKeys {
        let name = source.identifier
        try await use(keys.current, name)
        let recorded = try await pins.recorded(name)
        if let recorded, !inPlaceOfLost, !keys.contains(recorded) {
            // Another process has rotated the key since `keys` were fetched.
            guard let present = try await loaded(source).keys else { throw missing(source) }
            return try await settle(present, source)
        }
        if recorded != keys.current.identity { try await pins.record(keys.current.identity, name) }
        let keys = try keep(keys, source)
        settled.insert(name)
        trust(source, for: source.trust)
        return keys
    }

    private func mismatch(_ keys: SourceKeys, _ other: KeyIdentity, _ source: any KeySource) -> BackendError {
        let isSameID = other.id == keys.current.id
        return BackendError(
            .encryptionKeyMismatch,
            "The key in \(source.identifier) is \(hexadecimalText(of: keys.current.id)); this program's data was sealed with \(isSameID ? "another one of the same id" : hexadecimalText(of: other.id)). Restore that key; nothing was changed."
        )
    }

    /// The error for a source without a key for which no key is recorded either.
    private func neverMade(_ source: any KeySource) -> BackendError {
        BackendError(
            .encryptionKeyMissing,
            "There is no key in \(source.identifier), and this program has recorded no key of it. So no key can be replaced. A program creates the key for its first sealed value. If data was sealed with a key of this source before, restore that key. Nothing was changed."
        )
    }

    private func missing(_ source: any KeySource) -> BackendError {
        BackendError(
            .encryptionKeyMissing,
            "There is no key in \(source.identifier), and something was already sealed with it. Restore the key; a new one is never made beside existing data."
        )
    }
}
