import BackendContract

/// Throws a ``LawViolation``, the error of a check that failed, unless a condition holds.
func demand(_ condition: Bool, _ expected: @autoclosure () -> String, found: @autoclosure () -> String) throws {
    if !condition { throw LawViolation(expected: expected(), found: found()) }
}

/// Returns the UTF-8 bytes of a text as a payload, the content of a slot. A slot is the location of one value.
func bytes(_ text: String) -> StoragePayload { .bytes(Array(text.utf8)) }

extension StoragePayload {
    /// Returns whether two payloads are equal to the last bit. The result does not depend on `==`.
    func isExactly(_ other: StoragePayload) -> Bool { canonicalBytes == other.canonicalBytes }

    /// The kind and size of the payload, without its content.
    var outline: String {
        switch self {
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .native(.string(let text)): "a native text of \(text.utf8.count) bytes"
        case .native(.integer): "a native whole number"
        case .native(.unsigned): "a native unsigned number"
        case .native(.real): "a native real number"
        case .native(.boolean): "a native truth value"
        case .native(.date): "a native date"
        case .native(.data(let bytes)): "native data of \(bytes.count) bytes"
        case .native(.array(let elements)): "a native list of \(elements.count)"
        case .native(.dictionary(let entries)): "a native dictionary of \(entries.count)"
        }
    }
}

extension StorageMetadata {
    /// Returns whether two values of metadata are equal to the last bit. In contrast, `==` treats two spellings of a
    /// text, or 0 and -0, as equal.
    func isExactly(_ other: StorageMetadata) -> Bool { RecordCodec.encodeMetadata(self) == RecordCodec.encodeMetadata(other) }

    /// Returns a description of the differences, with the names of the fields that differ.
    func differences(from other: StorageMetadata) -> String {
        func differs(_ keep: (inout StorageMetadata, StorageMetadata) -> Void) -> Bool {
            var (mine, theirs) = (StorageMetadata(), StorageMetadata())
            keep(&mine, self)
            keep(&theirs, other)
            return !mine.isExactly(theirs)
        }
        var names: [String] = []
        if differs({ $0.serializer = $1.serializer }) { names.append("serializer") }
        if differs({ $0.typeTag = $1.typeTag }) { names.append("typeTag") }
        if differs({ $0.schemaVersion = $1.schemaVersion }) { names.append("schemaVersion") }
        if differs({ $0.origin = $1.origin }) { names.append("origin") }
        if differs({ $0.sealing = $1.sealing }) { names.append("sealing") }
        if differs({ $0.createdAt = $1.createdAt }) { names.append("createdAt") }
        if differs({ $0.modifiedAt = $1.modifiedAt }) { names.append("modifiedAt") }
        if differs({ $0.expiresAt = $1.expiresAt }) { names.append("expiresAt") }
        if differs({ $0.attributes = $1.attributes }) { names.append("attributes") }
        if differs({ $0.indexesAttributes = $1.indexesAttributes }) { names.append("indexesAttributes") }
        return names.isEmpty ? "no differences" : "differences in " + names.joined(separator: ", ")
    }
}

extension StorageProbe {
    /// The state that a read of the slot found, without any content.
    var outline: String {
        switch self {
        case .value(let record): (record.isForeign ? "a foreign value: " : "a value: ") + record.payload.outline
        case .tombstone: "a tombstone"
        case .absent: "nothing (absent)"
        case .locked: "a locked store"
        case .unavailable(let error): "unavailable (\(error))"
        case .corrupt(let corruption): "\(corruption.bytes.count) damaged bytes"
        }
    }

    var isAbsent: Bool { if case .absent = self { true } else { false } }
    var isTombstone: Bool { if case .tombstone = self { true } else { false } }
    var corruption: StorageCorruption? { if case .corrupt(let corruption) = self { corruption } else { nil } }

    /// Returns whether two reads found the same state of a slot, to the last bit.
    func isExactly(_ other: StorageProbe) -> Bool {
        switch (self, other) {
        case (.value(let left), .value(let right)):
            left.payload.isExactly(right.payload) && left.metadata.isExactly(right.metadata) && left.revision == right.revision
                && left.isForeign == right.isForeign
        case (.tombstone(let left), .tombstone(let right)): left.metadata.isExactly(right.metadata) && left.revision == right.revision
        default: self == other
        }
    }
}

extension MutationResult {
    /// The result of the mutation (a change of one slot), without any content.
    var outline: String {
        switch self {
        case .applied(let revision, let durability): "applied (\(revision == nil ? "no" : "a") revision, \(durability))"
        case .conflict(let probe): "conflict with \(probe.outline)"
        case .notAttempted: "not attempted"
        case .locked: "locked"
        case .failed(let error): "failed (\(error), \(error.outcome))"
        }
    }

    var isConflict: Bool { if case .conflict = self { true } else { false } }
    var isNotAttempted: Bool { if case .notAttempted = self { true } else { false } }
    var failure: BackendError? { if case .failed(let error) = self { error } else { nil } }
}

extension StorageBackend {
    /// Makes a change and returns the revision, which identifies the new state. Throws a ``LawViolation`` if the change
    /// is not applied, or if its result has no revision.
    func hold(_ mutation: StorageMutation) async throws -> StorageRevision {
        let result = try await apply(mutation)
        guard case .applied(let revision?, _) = result else {
            throw LawViolation(expected: "a change that is applied and has a revision", found: result.outline)
        }
        return revision
    }

    @discardableResult
    func put(
        _ payload: StoragePayload, _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress,
        if precondition: StorageMutation.Precondition = .none
    ) async throws -> StorageRevision {
        try await hold(.put(payload, metadata, at: address, if: precondition))
    }

    @discardableResult
    func writeTombstone(_ address: StorageAddress, _ metadata: StorageMetadata = StorageMetadata()) async throws -> StorageRevision {
        try await hold(.tombstone(metadata, at: address))
    }

    /// Deletes a slot. Throws a ``LawViolation`` if the deletion is not applied, or if its result has a revision: an
    /// empty slot has none.
    func empty(_ address: StorageAddress, if precondition: StorageMutation.Precondition = .none) async throws {
        let result = try await apply(.delete(address, if: precondition))
        guard case .applied(nil, _) = result else {
            throw LawViolation(expected: "a delete that is applied and has no revision", found: result.outline)
        }
    }

    /// Reads a slot with each ``ReadFreshness``, and demands a value with this payload. The value must not be marked as
    /// a value of another program.
    @discardableResult
    func demandValue(_ payload: StoragePayload, at address: StorageAddress, _ why: String = "") async throws -> StorageRecord {
        var last: StorageRecord?
        for freshness in [ReadFreshness.validated, .fresh] {
            let probe = try await read(address, freshness)
            guard let record = probe.record, record.payload.isExactly(payload), !record.isForeign else {
                throw LawViolation(expected: "the value that was put, \(payload.outline)\(why) (\(freshness) read)", found: probe.outline)
            }
            if let last { try demand(last.revision == record.revision, "one revision for one state", found: "two, by freshness") }
            last = record
            try await demandTheSameAtOnce(address)
        }
        guard let last else { throw LawViolation(expected: "a record", found: "none") }
        return last
    }

    /// Reads a slot with each ``ReadFreshness``, and demands the result `absent`: the slot is empty.
    func demandAbsent(_ address: StorageAddress, _ why: String) async throws {
        for freshness in [ReadFreshness.validated, .fresh] {
            let probe = try await read(address, freshness)
            try demand(probe.isAbsent, "nothing (absent) \(why) (\(freshness) read)", found: probe.outline)
            try await demandTheSameAtOnce(address)
        }
    }

    /// Compares two reads of a slot, if the store can read it without waiting (``ImmediateBackend``). Demands that the
    /// read without waiting finds the same state as ``StorageBackend/read(_:_:)``. The slot must not change during this
    /// call.
    func demandTheSameAtOnce(_ address: StorageAddress) async throws {
        guard let store = self as? any ImmediateBackend, (try? address.validate()) != nil,
            let probe = store.immediateProbe(of: address)
        else { return }
        let read = try await read(address, .validated)
        try demand(probe.isExactly(read), "what a read finds, \(read.outline), to be reported at once", found: probe.outline)
    }
}
