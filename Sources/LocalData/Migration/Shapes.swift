import BackendContract

/// Values that are kept in several shapes: an older one in the key's own slot, for programs of an earlier release, and newer ones beside it.
///
/// All shapes are written in one commit, and have the same random *pair* in their origins. A program of an earlier release writes the slot alone, without the pair: so its write is known.
/// `Docs/Design.md` has the table.
struct Shapes: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// A newer shape's slot beside a key's own.
    struct Level: Sendable {
        let version: Int
        let route: Route
        let probe: StorageProbe
    }

    /// What the slots of newer shapes hold, the newest first. Only keys with a chain of versions have any, and only where they change together with the key's own slot.
    /// - Throws: ``StorageError`` when that cannot be known.
    func beside(_ slot: UntypedSlot) async throws -> [Level] {
        guard let chain = slot.key.evolution, slot.key.membership == nil, slot.route.capabilities.atomicBatch else { return [] }
        let versions = chain.known.filter { $0 > chain.base }.sorted(by: >)
        if versions.isEmpty { return [] }
        let routes = versions.map { slot.route.beside(in: .shape($0, of: slot.route.address.namespace)) }
        let probes = try await Route.read(routes, .validated)
        return try zip(versions, zip(routes, probes)).map { version, found in
            Level(version: version, route: found.0, probe: try found.0.known(found.1))
        }
    }

    /// Whether a key keeps a value in the shape of a version: its window is not over for this program.
    func keeps<Value>(_ version: Int, _ key: StorageKey<Value>) -> Bool {
        guard let kept = key.keptShape, kept.window.isOpen(for: env.applicationVersion) else { return false }
        return kept.versions.contains(version)
    }

    func keeps<Value>(_ record: StorageRecord, _ key: StorageKey<Value>) -> Bool { keeps(version(of: record, key), key) }

    /// The version of a record in its own slot.
    func version(of record: StorageRecord, _ key: some TypedKey) -> Int {
        record.metadata.schemaVersion ?? key.evolution?.base ?? key.typed.schemaVersion
    }

    // MARK: Reading

    /// The value of a record in its own slot, with what newer shapes beside it tell. Nil means: the slot changed meanwhile, look at it again.
    /// - Throws: As ``RecordCoder/read(_:_:)``; `migrationFailed` when a newer shape cannot be read, or the values cannot be merged.
    func read<Value>(_ record: StorageRecord, _ slot: Slot<Value>) async throws -> Decoded<Value>? {
        guard env.coder.isOutdated(record.metadata, slot.key) else { return try await env.coder.read(record, slot) }
        let version = version(of: record, slot.key)
        let beside = try await beside(slot.untyped)
        let newer = try newerRecords(than: version, beside, slot)
        var decoded = try await newer.isEmpty ? env.coder.read(record, slot) : merged(newer, record, slot)
        // The slot was read first. If it is still the same, so were those beside it: they change together. Records of one commit need no second look.
        let isOfOneCommit = beside.isEmpty || !newer.isEmpty && !decoded.isUnmerged
        if !isOfOneCommit, try await slot.route.probe().revision != record.revision { return nil }
        decoded.isOutdated = !keeps(record, slot.key)
        return decoded
    }

    private func newerRecords<Value>(
        than version: Int, _ beside: [Level], _ slot: Slot<Value>
    ) throws -> [(version: Int, copy: SourceRecord)] {
        try beside.compactMap { level in
            if level.version <= version { return nil }
            if case .corrupt(let corruption) = level.probe { throw unreadable(level.version, slot, level.route.corrupted(corruption)) }
            return level.probe.record.map { (level.version, SourceRecord(key: .key(slot.key), route: level.route, record: $0)) }
        }
    }

    /// Reads shapes from the newest to the key's own slot. Each that does not belong to the one before was written after it, by an earlier release.
    private func merged<Value>(
        _ newer: [(version: Int, copy: SourceRecord)], _ record: StorageRecord, _ slot: Slot<Value>
    ) async throws -> Decoded<Value> {
        var (found, last) = try await newest(newer[0], slot)
        func isOfOneCommit(_ own: RecordOrigin?) -> Bool { own?.pair != nil && own?.pair == last?.pair }
        for (index, (version, copy)) in newer.enumerated().dropFirst() {
            let own = try await origin(of: copy, version, slot)
            if isOfOneCommit(own) { continue }
            let older = try await decode(copy, version, slot)
            try await merge(older, own, newer[..<index].map(\.copy), last, &found, slot)
            last = own
        }
        let own = try await env.coder.origin(of: record.metadata, slot.route)
        if !isOfOneCommit(own) {
            try await merge(try await env.coder.read(record, slot), own, newer.map(\.copy), last, &found, slot)
        }
        return found
    }

    private func newest<Value>(
        _ newest: (version: Int, copy: SourceRecord), _ slot: Slot<Value>
    ) async throws -> (Decoded<Value>, RecordOrigin?) {
        var found = try await decode(newest.copy, newest.version, slot)
        // A later program knows a shape that this one did not write yet.
        found.isUnmerged = newest.version < slot.key.schemaVersion
        return (found, try await origin(of: newest.copy, newest.version, slot))
    }

    /// Makes one value of an older shape and of what was found above it; not if the value was removed in between.
    /// - Parameters:
    ///   - own: The origin of the older shape.
    ///   - last: The origin of the last shape that is in what was found.
    private func merge<Value>(
        _ older: Decoded<Value>, _ own: RecordOrigin?, _ displaced: [SourceRecord], _ last: RecordOrigin?, _ found: inout Decoded<Value>,
        _ slot: Slot<Value>
    ) async throws {
        if let merge = slot.key.keptShape?.merge, own?.followsRemoval(unknownTo: last) != true {
            let newer = found.value
            var merged = Decoded(value: try await env.wrappingUserErrors(slot.name) { try merge(older.value, newer) })
            merged.displaced = found.displaced
            found = merged
        } else {
            found = older
            found.displaced = displaced
        }
        found.isUnmerged = true
    }

    private func decode<Value>(_ copy: SourceRecord, _ version: Int, _ slot: Slot<Value>) async throws -> Decoded<Value> {
        do { return try await env.coder.read(copy.record, Slot(key: slot.key, route: copy.route)) } catch let error as StorageError
            where error.meansUndecodable
        {
            throw unreadable(version, slot, error)
        }
    }

    private func origin<Value>(of copy: SourceRecord, _ version: Int, _ slot: Slot<Value>) async throws -> RecordOrigin? {
        do { return try await env.coder.origin(of: copy.record.metadata, copy.route) } catch let error as StorageError
            where error.meansUndecodable
        {
            throw unreadable(version, slot, error)
        }
    }

    /// Not an error that says that the key's own slot is damaged: an older copy must not take its place.
    private func unreadable<Value>(_ version: Int, _ slot: Slot<Value>, _ error: StorageError) -> StorageError {
        StorageError(
            StorageError.migrationFailed, key: slot.name,
            "The value has the shape of an earlier version in its place, and the newer one beside it (version \(version)) cannot be read. Both are left as they are. Set the value anew, or remove it. \(error.message)",
            underlying: error)
    }

    // MARK: The end of a window

    /// What plan, report and audit say of a value that is kept in an older shape; nil for any other.
    func note<Value>(of record: StorageRecord, _ key: StorageKey<Value>) -> String? {
        let version = version(of: record, key)
        guard keeps(version, key), let kept = key.keptShape else { return nil }
        return "It is kept in the shape of version \(version) for programs of an earlier release, \(kept.window)."
    }

    /// Whether a sweep ends the window of a value that is kept in an older shape.
    func endsWindow<Value>(of record: StorageRecord, _ slot: Slot<Value>, _ run: MigrationRun) async throws -> Bool {
        guard keeps(record, slot.key), run.reason != .read, let kept = slot.key.keptShape else { return false }
        if run.endsWindow { return true }
        if await env.ledger.isReleaseRequested(slot.route) { return true }
        guard let since = try await keptSince(record, slot.untyped), let end = kept.window.end(since: since), end <= env.now else {
            return false
        }
        return await env.expiries.mayPurge(expiredAt: end)
    }

    /// Whether a sweep has to write the day on which the window begins.
    func lacksBeginning<Value>(_ record: StorageRecord, _ slot: Slot<Value>) async throws -> Bool {
        guard slot.key.keptShape?.window.end(since: 0) != nil, keeps(record, slot.key) else { return false }
        return try await keptSince(record, slot.untyped) == nil
    }

    /// When an older shape was first kept: what the slot or one beside it says.
    private func keptSince(_ record: StorageRecord, _ slot: UntypedSlot) async throws -> Double? {
        try await keptSince(.value(record), slot.route, try await beside(slot))
    }

    func keptSince(_ probe: StorageProbe, _ route: Route, _ beside: [Level]) async throws -> Double? {
        for (record, route) in [(probe.record, route)] + beside.map({ ($0.probe.record, $0.route) }) {
            guard let record, let origin = try? await env.coder.origin(of: record.metadata, route) else { continue }
            if let since = origin.keptSince { return since }
        }
        return nil
    }
}
