package import BackendContract
package import BackendRuntime

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
    private let uses: any KeyUses
    private let randomBytes: @Sendable (Int) -> [UInt8]
    /// Tells when a source is asked again; nil where it never is.
    private let clock: (any RuntimeClock)?
    private var known: [String: SourceKeys] = [:]
    /// The sources of the known keys.
    private var sources: [String: any KeySource] = [:]
    /// Whether no key may be fetched or used.
    private var isLocked = false
    /// The sources whose key is recorded and may seal.
    private var settled: Set<String> = []
    /// Until when a source is assumed to hold the key that is in memory.
    private var trusted: [String: MonotonicInstant] = [:]
    /// What other processes are told: which key of a source this one seals with.
    private var used: [String: (id: [UInt8], use: any Sendable)] = [:]
    /// The same of keys before: what they sealed may not be written yet.
    private var formerUses: [any Sendable] = []
    /// The callers that wait for a key that is being fetched: a passphrase is asked for once, and a key derived from it once.
    private var fetching: [String: [CheckedContinuation<Result<SourceKeys?, BackendError>, Never>]] = [:]
    /// The callers that wait while one finds out whether a source's first key may be made: the stores are searched once, not once for each
    /// of a thousand writers.
    private var settling: [String: [CheckedContinuation<Void, Never>]] = [:]

    /// Creates an empty set of keys.
    /// - Parameter clock: Tells when a source is asked whether it still holds its key, before more is sealed with it; nil for never.
    package init(
        pins: Pins, uses: any KeyUses = NoOtherUses(), clock: (any RuntimeClock)? = nil, randomBytes: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.pins = pins
        self.uses = uses
        self.clock = clock
        self.randomBytes = randomBytes
    }

    /// The keys of a source, for opening: never makes one, and records nothing, so that a wrong key that was only tried is not taken for the
    /// right one.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` when there is none; `encryptionKeyMismatch` when it is not the recorded one.
    package func existing(from source: any KeySource) async throws(BackendError) -> SourceKeys {
        if let keys = known[source.identifier] { return keys }
        guard let keys = try await load(source) else { throw missing(source) }
        if let recorded = try await pins.recorded(source.identifier), !keys.contains(recorded) { throw mismatch(keys, recorded, source) }
        return try keep(keys, source)
    }

    /// The key of a source that opens what one of some keys sealed. Where the source has none of them, it is fetched again if another program
    /// has rotated its key since, and else the answer is the key that seals: opening with it tells what is wrong.
    /// - Parameter ids: The ids of the keys that open it.
    /// - Throws: ``BackendError``, as ``existing(from:)``.
    package func key(for ids: [[UInt8]], from source: any KeySource) async throws(BackendError) -> SealingKey {
        let isKnown = known[source.identifier] != nil
        let keys = try await existing(from: source)
        func found(_ keys: SourceKeys) -> SealingKey? { keys.all.first { ids.contains($0.id) } }
        if let key = found(keys) { return key }
        guard isKnown, let recorded = try await pins.recorded(source.identifier), recorded != keys.current.identity else {
            return keys.current
        }
        forget(source)
        let others = try await existing(from: source)
        return found(others) ?? others.current
    }

    /// The key of a source, for sealing: makes a first one if the rule above allows it.
    /// - Parameters:
    ///   - source: The source.
    ///   - sealedIDs: The ids of the keys that sealed what the store holds that is about to be written; asked only while no key of the
    ///     source is recorded.
    ///   - isForNewStore: Whether a store is going to be made that this key alone opens: then the source is asked whether it still holds it.
    /// - Throws: ``BackendError``, as ``existing(from:)``. A key in memory that its source has lost seals nothing more.
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
            // Nobody else could open what it seals from now on. What it sealed before it opens as long as it is in memory.
            if try await pins.recorded(name) != nil { throw missing(source) }
            forget(source)
        }
        var (keys, isRecorded) = try await loaded(source)
        if let keys, isRecorded {
            try await makeRotationDurable(keys, source)
            return try await settle(keys, source).current
        }
        // Keys of other sources may have sealed what is there. One that is recorded nowhere may have been this source's.
        let sealed = try await sealedIDs()
        let unrecorded = sealed.subtracting(try await pins.all().map(\.id))
        if let keys {
            guard unrecorded.isEmpty || keys.all.contains(where: { sealed.contains($0.id) }) else {
                throw mismatch(keys, KeyIdentity(id: unrecorded.first ?? [], commitment: []), source)
            }
        } else {
            guard unrecorded.isEmpty else { throw missing(source) }
            keys = try await source.create(SourceKeys(only: .random(randomBytes)))
        }
        guard let keys else { throw missing(source) }
        // Another process may have made it a moment ago, and it may not be durable yet.
        try await source.synchronize()
        return try await settle(keys, source).current
    }

    /// The key that seals, if its source was asked a moment ago.
    private func trustedKey(_ name: String) -> SealingKey? {
        guard settled.contains(name), let key = known[name]?.current else { return nil }
        if let clock, trusted[name].map({ clock.now >= $0 }) ?? true { return nil }
        return key
    }

    /// Whether a source still holds a key. One that cannot tell now has not lost it.
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

    /// How long a source may take to say whether it holds a key: what waits to be sealed waits for it.
    private static let patience = Duration.milliseconds(500)
    /// After how long a source that could not say so is asked again.
    private static let trustAfterFailure = Duration.seconds(60)

    /// The key of a source from now on, where what it held before is lost: what the source holds now, or a new key. It is recorded in place of the
    /// lost one. Only for data that another key has opened.
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

    /// Makes a new key in a source. It seals from now on; the keys before it only open. If the source holds several keys already, no key is made: an
    /// earlier call was not finished, or an administrator has added the new key.
    /// - Returns: The keys of the source, durable there and recorded.
    /// - Throws: ``BackendError``: as ``existing(from:)``, and what ``KeySource/replace(_:with:)`` throws.
    package func rotate(_ source: any KeySource) async throws(BackendError) -> SourceKeys {
        let name = source.identifier
        await takeTurn(name)
        defer { passTurn(name) }
        guard var keys = try await loaded(source).keys else { throw missing(source) }
        if keys.others.isEmpty {
            let new = try keys.adding(.random(randomBytes))
            try await source.replace(keys, with: new)
            keys = new
        }
        try await source.synchronize()
        return try await settle(keys, source)
    }

    /// The keys of a source as it holds them now, recorded: this process seals with the one that seals from now on.
    /// - Throws: ``BackendError``, as ``existing(from:)``.
    package func present(in source: any KeySource) async throws(BackendError) -> SourceKeys {
        await takeTurn(source.identifier)
        defer { passTurn(source.identifier) }
        guard let keys = try await loaded(source).keys else { throw missing(source) }
        try await makeRotationDurable(keys, source)
        return try await settle(keys, source)
    }

    /// Makes a key durable that another call or process has put into the source and not recorded: its rotation may have been interrupted before.
    private func makeRotationDurable(_ keys: SourceKeys, _ source: any KeySource) async throws(BackendError) {
        guard let recorded = try await pins.recorded(source.identifier), recorded != keys.current.identity else { return }
        try await source.synchronize()
    }

    /// The ids of those keys of a source that only open and that a running process may still seal with: one that has not looked at the source
    /// since its key was rotated.
    package func othersInUse(_ keys: SourceKeys) async throws(BackendError) -> [[UInt8]] {
        var used: [[UInt8]] = []
        for key in keys.others where try await uses.isUsed(key.id) { used.append(key.id) }
        return used
    }

    /// Destroys the keys of a source that only open: with them, everything that they alone open.
    /// - Parameter keys: What the source holds.
    /// - Throws: ``BackendError``, as ``KeySource/replace(_:with:)``.
    package func deleteOthers(_ keys: SourceKeys, of source: any KeySource) async throws(BackendError) {
        await takeTurn(source.identifier)
        defer { passTurn(source.identifier) }
        try await source.replace(keys, with: keys.withoutOthers)
        try await source.synchronize()
        _ = try await settle(keys.withoutOthers, source)
    }

    /// What a source holds now, and whether its key is recorded: then it agrees with what is.
    ///
    /// Other processes are told first that this one seals with the key: whoever rotates it records the new one before it looks who uses the old
    /// one. So either this call sees that, or the other sees this use.
    private func loaded(_ source: any KeySource) async throws(BackendError) -> (keys: SourceKeys?, isRecorded: Bool) {
        let name = source.identifier
        var attempt = 0
        while true {
            attempt += 1
            let keys = try await load(source)
            if let keys { try await use(keys.current, name) }
            guard let recorded = try await pins.recorded(name) else { return (keys, false) }
            if let keys, keys.contains(recorded) { return (keys, true) }
            // Another process may have made the key, or rotated it, and recorded it between the two reads.
            guard attempt < Self.attempts else {
                guard let keys else { throw missing(source) }
                throw mismatch(keys, recorded, source)
            }
        }
    }

    private static let attempts = 3

    /// Tells other processes that this one seals with a key.
    private func use(_ key: SealingKey, _ name: String) async throws(BackendError) {
        if used[name]?.id == key.id { return }
        let use = try await uses.begin(key.id)
        if let before = used.updateValue((key.id, use), forKey: name) { formerUses.append(before.use) }
    }

    /// Tells other processes no longer of keys that this one sealed with before. To be called when nothing is under way that was sealed with them.
    package func endFormerUses() { formerUses = [] }

    /// Tells other processes no longer of any key. To be called when nothing is under way; what is sealed later begins a use anew.
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

    /// What a source holds, fetched by the first of those who ask at the same time.
    private func load(_ source: any KeySource) async throws(BackendError) -> SourceKeys? {
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
        let result: Result<SourceKeys?, BackendError>
        do throws(BackendError) { result = .success(try await source.load()) } catch { result = .failure(error) }
        for waiting in fetching.removeValue(forKey: name) ?? [] { waiting.resume(returning: result) }
        return try result.get()
    }

    /// The keys of a source if they were fetched before: no source is asked.
    func fetched(from source: any KeySource) -> SourceKeys? { known[source.identifier] }

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

    /// Keeps keys in memory, unless keys were locked while they were fetched.
    private func keep(_ keys: SourceKeys, _ source: any KeySource) throws(BackendError) -> SourceKeys {
        try requireUnlocked()
        known[source.identifier] = keys
        sources[source.identifier] = source
        return keys
    }

    /// Records the key that seals, durably, unless it is recorded, and lets it be used.
    /// - Parameter inPlaceOfLost: Whether the recorded key is lost, so that any may follow it.
    private func settle(
        _ keys: SourceKeys, _ source: any KeySource, inPlaceOfLost: Bool = false
    ) async throws(BackendError) -> SourceKeys {
        let name = source.identifier
        try await use(keys.current, name)
        let recorded = try await pins.recorded(name)
        if let recorded, !inPlaceOfLost, !keys.contains(recorded) {
            // Another process has rotated the key since these were fetched.
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

    private func missing(_ source: any KeySource) -> BackendError {
        BackendError(
            .encryptionKeyMissing,
            "There is no key in \(source.identifier), and something was already sealed with it. Restore the key; a new one is never made beside existing data."
        )
    }
}
