import BackendContract
import BackendRuntime

/// Writing a value in all its shapes, and removing it in all of them: one commit.
extension Shapes {
    /// The changes that write a value. The first one is that of the key's own slot. In a release window it writes an older shape, and the others the newer ones beside it; outside of one, they
    /// delete what a window left there.
    /// - Parameters:
    ///   - precondition: What the slot must still hold; by default what was seen.
    ///   - probe: What the slot was seen to hold; it is read where that is needed and not given.
    /// - Throws: ``StorageError`` with `encodingFailed` when an older shape does not tell everything and nothing is kept beside it. Nothing was changed then.
    func changes(
        _ prepared: EncodedValue, _ slot: UntypedSlot, _ origin: RecordOrigin?, if precondition: StorageMutation.Precondition? = nil,
        over probe: StorageProbe? = nil
    ) async throws -> [Committer.Change] {
        let seen: StorageProbe? = if let probe { probe } else if mayHaveShapes(slot) { try await slot.route.probe() } else { nil }
        let precondition = precondition ?? seen?.unchanged ?? .none
        guard let seen, prepared.shapes != nil || isOutdated(seen, slot) else {
            return [Committer.Change(try await env.coder.complete(prepared, origin: origin).operation, slot.route, if: precondition)]
        }
        let beside = try await beside(slot)
        let floor = floor(of: prepared, over: seen)
        let older = floor < prepared.shape.version ? try olderShapes(of: prepared) : []
        guard let shapes = prepared.shapes, let own = older.first(where: { $0.shape.version == floor }) else {
            let own = try await env.coder.complete(prepared, origin: origin.flatMap { $0.withoutPair })
            return [Committer.Change(own.operation, slot.route, if: precondition)] + (try await deletions(of: beside))
        }
        if !shapes.keepsNewer { try shapes.requireWhole(own) }
        let since = shapes.window.end(since: 0) == nil ? nil : try await keptSince(seen, slot.route, beside) ?? env.now
        var paired = origin?.withoutPair ?? RecordOrigin()
        paired.keptSince = since
        if shapes.keepsNewer { paired.pair = hexadecimalText(of: env.runtime.randomBytes(16)) }
        let names = paired == RecordOrigin() ? nil : paired
        var change = Committer.Change(try await env.coder.complete(own, origin: names).operation, slot.route, if: precondition)
        guard paired.pair != nil else { return [change] + (try await deletions(of: beside)) }
        var (others, unused) = ([Committer.Change](), [Level]())
        for level in beside {
            guard level.version > floor, let newer = ([prepared] + older).first(where: { $0.shape.version == level.version }) else {
                unused.append(level)
                continue
            }
            let coded = try await self.coded(newer, level.route, paired)
            if level.version == prepared.shape.version {
                change.newest = NewestShape(payload: coded.payload, metadata: coded.metadata, route: level.route)
            }
            others.append(Self.change(coded.operation, level, if: try await unchanged(level)))
        }
        return [change] + others + (try await deletions(of: unused))
    }

    /// The changes that delete newer shapes, for the commit that removes a value.
    func removals(_ slot: UntypedSlot) async throws -> [Committer.Change] { try await deletions(of: try await beside(slot)) }

    // MARK: What is left beside a slot

    /// Deletes what is left beside a slot: newer shapes of a value that an earlier release removed, which are quarantined first, or those that the slot's own shape came after.
    /// - Returns: Whether anything was left; nil means that the slot changed meanwhile.
    func clean(_ slot: UntypedSlot, _ probe: StorageProbe) async throws -> Bool? {
        var left = try await beside(slot)
        if let record = probe.record { left.removeAll { $0.version > version(of: record, slot.key) && isOutdated(probe, slot) } }
        left.removeAll { if case .absent = $0.probe { true } else { false } }
        if left.isEmpty { return false }
        // Not what another program has written together with a value since.
        guard try await slot.route.probe().revision == probe.revision else { return nil }
        if probe.record == nil {
            for level in left {
                guard let record = level.probe.record, !env.isExpired(record) else { continue }
                try await env.quarantine.keep(
                    record, of: level.route, beside: [slot.route], reason: "an earlier release removed \(slot.name)")
            }
        }
        let check = Committer.Change.check(slot.route, if: probe.unchanged)
        return try await env.committer.commit([check] + (try await deletions(of: left))).isCommitted ? true : nil
    }

    /// Quarantines newer shapes whose values nothing merges with what an earlier release wrote.
    func quarantine(_ displaced: [SourceRecord], _ slot: UntypedSlot) async throws {
        for copy in displaced {
            try await env.quarantine.keep(
                copy.record, of: copy.route, beside: [slot.route],
                reason: "an earlier release wrote over \(slot.name), and nothing merges them")
        }
    }

    // MARK: Parts

    private func mayHaveShapes(_ slot: UntypedSlot) -> Bool { slot.key.evolution != nil && slot.key.membership == nil }

    /// Whether a slot holds an older shape than the key's.
    private func isOutdated(_ probe: StorageProbe, _ slot: UntypedSlot) -> Bool {
        guard mayHaveShapes(slot), let record = probe.record, let chain = slot.key.evolution else { return false }
        return version(of: record, slot.key) < chain.version
    }

    private func olderShapes(of prepared: EncodedValue) throws -> [EncodedValue] {
        try (prepared.shapes?.make() ?? []).map { older in
            var older = older
            older.facts = prepared.facts
            return older
        }
    }

    /// The version that the key's own slot gets: what the oldest program of the window reads, but never an earlier one than it has.
    private func floor(of prepared: EncodedValue, over probe: StorageProbe) -> Int {
        let newest = prepared.shape.version
        guard let shapes = prepared.shapes, shapes.window.isOpen(for: env.applicationVersion), let oldest = shapes.versions.last
        else { return newest }
        guard let record = probe.record, !env.isExpired(record) else { return oldest }
        let stored = record.metadata.schemaVersion ?? oldest
        return shapes.versions.last { $0 >= stored } ?? newest
    }

    /// A newer shape, as it is written beside the older one.
    private func coded(_ newer: EncodedValue, _ route: Route, _ own: RecordOrigin) async throws -> CodedRecord {
        var newer = newer
        newer.route = route
        var origin = RecordOrigin()
        (origin.pair, origin.keptSince, origin.removal) = (own.pair, own.keptSince, own.removal)
        return try await env.coder.complete(newer, origin: origin)
    }

    private static func change(
        _ operation: StorageMutation.Operation, _ level: Level, if precondition: StorageMutation.Precondition
    ) -> Committer.Change {
        var change = Committer.Change(operation, level.route, if: precondition)
        change.isNewerShape = true
        return change
    }

    private func deletions(of levels: [Level]) async throws -> [Committer.Change] {
        var changes: [Committer.Change] = []
        for level in levels {
            if case .absent = level.probe { continue }
            changes.append(Self.change(.delete, level, if: try await unchanged(level)))
        }
        return changes
    }

    /// The precondition that a slot is as it was seen; damaged bytes are quarantined before they are replaced.
    private func unchanged(_ level: Level) async throws -> StorageMutation.Precondition {
        if case .corrupt(let corruption) = level.probe { return try await env.quarantine.keep(corruption, of: level.route, beside: []) }
        return level.probe.unchanged
    }
}

extension RecordOrigin {
    /// The same origin, of a record without newer shapes beside it; nil for one that said nothing else.
    var withoutPair: RecordOrigin? {
        if pair == nil, keptSince == nil, removal != "" { return self }
        var origin = self
        (origin.pair, origin.keptSince) = (nil, nil)
        if removal == "" { origin.removal = nil }
        return origin.namesNothing ? nil : origin
    }
}
