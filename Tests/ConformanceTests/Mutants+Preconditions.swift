import BackendContract
import MemoryBackend
import TestSupport

extension Mutant {
    static var preconditions: [Mutant] {
        let check = "a check changes nothing, and succeeds if its precondition holds"
        return [
            Mutant(
                "writes where it should only check", breaks: check,
                fault: .mutations { mutation in
                    guard mutation.operation == .check else { return mutation }
                    return .tombstone(at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "leaves checks out", breaks: check, "a batch with a failing check changes nothing",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let others = mutations.filter { $0.operation != .check }
                    var results = try await others.isEmpty ? [] : store.apply(others)
                    for (index, mutation) in mutations.enumerated() where mutation.operation == .check {
                        results.insert(.applied(nil, .durable), at: index)
                    }
                    return results
                })),
            Mutant(
                "ignores preconditions", breaks: "the precondition absent holds for an empty slot only",
                "the precondition of a revision holds for that state only",
                "the revision of a deleted value is never valid again, even if an equal value is put",
                "of 100 tasks that change one state exactly one wins, in every round",
                "of 100 tasks over two instances exactly one wins, in every round",
                "a precondition holds against what another instance wrote",
                "the precondition replaceable refuses only a later schema version, and any origin",
                fault: .mutations { StorageMutation($0.address, $0.operation) }),
            Mutant(
                "looks before it writes, without a lock", breaks: "of 100 tasks that change one state exactly one wins, in every round",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    for mutation in mutations {
                        if let refusal = try await store.read(mutation.address).refusal(of: mutation) { return [refusal] }
                    }
                    await Task.yield()
                    return try await store.apply(mutations.map { StorageMutation($0.address, $0.operation) })
                })),
            Mutant(
                "ignores the precondition replaceable",
                breaks: "the precondition replaceable refuses only a later schema version, and any origin",
                "of 16 concurrent puts, the one with the latest schema version wins",
                fault: .mutations { mutation in
                    guard case .replaceable = mutation.precondition else { return mutation }
                    return StorageMutation(mutation.address, mutation.operation)
                }),
            Mutant(
                "replaces a record without its origin",
                breaks: "the precondition replaceable refuses only a later schema version, and any origin",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    var changed: [StorageMutation] = []
                    for var mutation in mutations {
                        let probe = try await store.read(mutation.address)
                        let hasOrigin =
                            switch probe {
                            case .value(let record): record.metadata.origin != nil
                            case .tombstone(let tombstone): tombstone.metadata.origin != nil
                            default: false
                            }
                        if case .replaceable = mutation.precondition, hasOrigin, let revision = probe.revision {
                            mutation.precondition = .revision(revision)
                        }
                        changed.append(mutation)
                    }
                    return try await store.apply(changed)
                })),
            Mutant(
                "takes a tombstone for an empty slot", breaks: "the precondition absent holds for an empty slot only",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    var changed: [StorageMutation] = []
                    for mutation in mutations {
                        let probe = try await store.read(mutation.address)
                        let isBuried = if case .tombstone = probe { true } else { false }
                        let condition = mutation.precondition == .absent && isBuried ? .none : mutation.precondition
                        changed.append(StorageMutation(mutation.address, mutation.operation, if: condition))
                    }
                    return try await store.apply(changed)
                })),
            Mutant(
                "derives revisions from the value", breaks: "no revision is used again, also after a delete",
                "no revision is used again after reopening", "a revision changes exactly when the state of its slot changes",
                fault: contentRevisions),
            Mutant(
                "gives a new revision with every read", breaks: "a revision changes exactly when the state of its slot changes",
                "a value that was put is what the next read returns",
                fault: .probes { probe in
                    guard case .value(var record) = probe else { return probe }
                    record.revision = StorageRevision([UInt8.random(in: 0...255)] + record.revision.bytes)
                    return .value(record)
                }),
            Mutant(
                "forgets tombstones", breaks: "a removed value leaves a tombstone with its metadata, and no value",
                "a tombstone survives reopening", "values and tombstones are listed, deleted slots are not",
                fault: .mutations { mutation in
                    guard case .tombstone = mutation.operation else { return mutation }
                    return .delete(mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "lets nothing stand over a tombstone", breaks: "a put over a tombstone needs no precondition, or the tombstone's revision",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    for mutation in mutations {
                        let probe = try await store.read(mutation.address)
                        if case .tombstone = probe, case .put = mutation.operation { return [.conflict(probe)] }
                    }
                    return try await store.apply(mutations)
                })),
        ]
    }

    static var batches: [Mutant] {
        [
            Mutant(
                "applies a part of a batch", breaks: "a batch with a failing precondition changes nothing",
                "a batch with an unusable name changes nothing", fault: oneByOne),
            Mutant(
                "returns results in another order", breaks: "an apply returns one result for each mutation, in their order",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in try await store.apply(mutations).reversed()
                })),
            Mutant(
                "drops what does not fit into a batch of 100", breaks: "a large batch is applied completely",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let made = try await store.apply(Array(mutations.prefix(100)))
                    return made + mutations.dropFirst(100).map { _ in .applied(StorageRevision([1]), .durable) }
                })),
        ]
    }

    /// A fault that gives equal values equal revisions, and accepts these revisions as preconditions.
    private static var contentRevisions: FaultyStore.Fault {
        @Sendable func revision(of payload: StoragePayload) -> StorageRevision { StorageRevision(Array(payload.canonicalBytes.prefix(40))) }
        var fault = FaultyStore.Fault.results { mutation, result in
            guard case .put(let payload, _) = mutation.operation, case .applied(_, let durability) = result else { return result }
            return .applied(revision(of: payload), durability)
        }
        fault.read = { store, addresses, freshness async throws(BackendError) in
            try await store.read(addresses, freshness).map { probe in
                guard case .value(var record) = probe else { return probe }
                record.revision = revision(of: record.payload)
                return .value(record)
            }
        }
        return fault
    }

    private static var oneByOne: FaultyStore.Fault {
        FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
            var results: [MutationResult] = []
            for mutation in mutations { results += try await store.apply([mutation]) }
            return results
        })
    }
}
