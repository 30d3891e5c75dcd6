import BackendContract
import MemoryBackend
import Synchronization
import TestSupport

extension Mutant {
    static var instances: [Mutant] {
        var forgetful = FaultyStore.Fault()
        forgetful.forgetsWhenReopened = true
        let stale = Mutex<[PhysicalSlot: StorageProbe]>([:])
        let told = Mutex<[PhysicalSlot: StorageProbe]>([:])
        var hasty = FaultyStore.Fault()
        hasty.immediate = { store, address in
            guard let probe = store.immediateProbe(of: address), probe.record != nil else { return nil }
            return told.withLock { told in
                defer { told[store.slot(address)] = told[store.slot(address)] ?? probe }
                return told[store.slot(address)] ?? probe
            }
        }
        return [
            Mutant(
                "is empty when it is opened again", breaks: "a store keeps everything when it is closed and opened again",
                "metadata survives reopening", "a tombstone survives reopening", "an instance sees what another one wrote",
                "of 100 tasks over two instances exactly one wins, in every round", fault: forgetful),
            Mutant(
                "is another store every time", breaks: "two instances of one store have the same identity and capabilities",
                fault: FaultyStore.Fault(identity: { _ in BackendIdentity(kind: "memory", store: "\(UInt64.random(in: 0 ... .max))") })),
            Mutant(
                "tells at once what was there once", breaks: "an instance sees what another one wrote",
                "a second put replaces the first one completely", fault: hasty),
            Mutant(
                "answers from memory that nobody validates", breaks: "an instance sees what another one wrote",
                "a second put replaces the first one completely",
                fault: FaultyStore.Fault(read: { store, addresses, freshness async throws(BackendError) in
                    let probes = try await store.read(addresses, freshness)
                    return zip(addresses, probes).map { address, probe in
                        stale.withLock { known in
                            if let first = known[store.slot(address)] { return first }
                            known[store.slot(address)] = probe
                            return probe
                        }
                    }
                })),
        ]
    }

    static var foreign: [Mutant] {
        [
            Mutant(
                "takes foreign values for its own", breaks: "another program's value is readable, foreign and without metadata",
                "a value that no longer matches its metadata is foreign, and the metadata is not returned",
                fault: .probes { probe in
                    guard case .value(var record) = probe else { return probe }
                    record.isForeign = false
                    return .value(record)
                }),
            Mutant(
                "returns stale metadata with a foreign value",
                breaks: "a value that no longer matches its metadata is foreign, and the metadata is not returned",
                fault: .probes { probe in
                    guard case .value(var record) = probe, record.isForeign else { return probe }
                    record.metadata = StorageMetadata(serializer: "json")
                    return .value(record)
                }),
            Mutant(
                "gives every foreign value the same revision", breaks: "a foreign value changes its revision with its content",
                fault: sameForeignRevision),
            Mutant(
                "takes damaged bytes for nothing",
                breaks: "damaged bytes are reported as corrupted, and overwritten only under their revision",
                "with damage in one slot, the others are readable, or none is reported as absent",
                fault: .probes { probe in if case .corrupt = probe { .absent } else { probe } }),
            Mutant(
                "writes over damaged bytes", breaks: "damaged bytes are reported as corrupted, and overwritten only under their revision",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    var changed: [StorageMutation] = []
                    for mutation in mutations {
                        let probe = try await store.read(mutation.address)
                        guard case .corrupt = probe, mutation.precondition == .none, let revision = probe.revision else {
                            changed.append(mutation)
                            continue
                        }
                        changed.append(StorageMutation(mutation.address, mutation.operation, if: .revision(revision)))
                    }
                    return try await store.apply(changed)
                })),
        ]
    }

    private static var sameForeignRevision: FaultyStore.Fault {
        let shared = StorageRevision([0xF0])
        var fault = FaultyStore.Fault.probes { probe in
            guard case .value(var record) = probe, record.isForeign else { return probe }
            record.revision = shared
            return .value(record)
        }
        fault.apply = { store, mutations async throws(BackendError) in
            try await store.apply(
                mutations.map { $0.precondition == .revision(shared) ? StorageMutation($0.address, $0.operation) : $0 })
        }
        return fault
    }

    static var timing: [Mutant] {
        [
            Mutant(
                "promises more than it claims",
                breaks: "after synchronize, everything read is as durable as any acknowledged change",
                fault: FaultyStore.Fault(synchronize: { _ async throws(BackendError) in .process })),
            Mutant(
                "does not do what its claim promises", breaks: "no change reports more durability than the backend claims",
                fault: .results { _, result in if case .applied(let revision, _) = result { .applied(revision, .process) } else { result } }
            ),
            Mutant(
                "calls itself locked while it works", breaks: "a store in use is ready", fault: FaultyStore.Fault(status: { _ in .locked })),
            Mutant(
                "writes a batch in two steps", breaks: "a cancelled batch happens whole or not at all",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    guard mutations.count > 1 else { return try await store.apply(mutations) }
                    let first = try await store.apply([mutations[0]])
                    withUnsafeCurrentTask { $0?.cancel() }
                    return first + (try await store.apply(Array(mutations.dropFirst())))
                })),
            Mutant(
                "says that a cancelled put was not made, and makes it",
                breaks: "a cancelled call writes completely or not at all, and reports which",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let results = await Task { try? await store.apply(mutations) }.value
                    if Task.isCancelled { throw BackendError(.cancelled, "Cancelled.") }
                    return results ?? []
                })),
            Mutant(
                "mixes slots up when it is in a hurry", breaks: "tasks that use different slots at once do not disturb each other",
                fault: .names { $0.name == "slot 4" ? StorageAddress("slot 5", in: $0.namespace) : $0 }),
            Mutant(
                "writes the metadata after the value", breaks: "a read never returns part of a value",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    guard mutations.count == 1, case .put(let payload, _) = mutations[0].operation else {
                        return try await store.apply(mutations)
                    }
                    _ = try await store.apply([.put(payload, at: mutations[0].address)])
                    for _ in 0..<20 { await Task.yield() }
                    return try await store.apply(mutations)
                })),
        ]
    }
}
