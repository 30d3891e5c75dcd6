import BackendContract
import MemoryBackend
import Synchronization

extension Mutant {
    static let all: [Mutant] = values + preconditions + batches + metadata + names + instances + foreign + timing

    private static var values: [Mutant] {
        [
            Mutant(
                "cuts values off at 64 KiB", breaks: "a value of 1 MiB is kept whole, or refused as too large before anything is written",
                fault: .mutations { mutation in
                    guard case .put(.bytes(let bytes), let metadata) = mutation.operation else { return mutation }
                    return .put(.bytes(Array(bytes.prefix(65_536))), metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "takes an empty value for none", breaks: "an empty value is a value",
                fault: .probes { probe in probe.record?.payload == .bytes([]) ? .absent : probe }),
            Mutant(
                "makes UTF-8 of every value", breaks: "a value that was put is what the next read returns",
                fault: .mutations { mutation in
                    guard case .put(.bytes(let bytes), let metadata) = mutation.operation else { return mutation }
                    return .put(
                        .bytes(Array(String(decoding: bytes, as: UTF8.self).utf8)), metadata, at: mutation.address,
                        if: mutation.precondition)
                }),
            Mutant(
                "returns native values as bytes", breaks: "a native value of every kind comes back as it was put",
                fault: .probes { probe in
                    guard case .value(var record) = probe, case .native(let value) = record.payload else { return probe }
                    record.payload = .bytes(value.canonicalBytes)
                    return .value(record)
                }),
            Mutant(
                "rounds dates to seconds and composes texts",
                breaks: "a native value that is hard to hold comes back to the last bit, or is refused as unsupported",
                fault: .mutations { mutation in
                    guard case .put(.native(let value), let metadata) = mutation.operation else { return mutation }
                    let held: NativeValue =
                        switch value {
                        case .date(let seconds): .date(seconds.rounded())
                        case .string("e\u{301}"): .string("\u{E9}")
                        default: value
                        }
                    return .put(.native(held), metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "finds values under names that were never written", breaks: "a slot that was never written is absent",
                fault: .names { StorageAddress(String($0.name.prefix(3)), in: $0.namespace) }),
            Mutant(
                "deletes nothing", breaks: "a deleted slot is absent, and deleting nothing succeeds", "a delete removes a tombstone",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    guard mutations.count == 1, case .delete = mutations[0].operation else { return try await store.apply(mutations) }
                    return [.applied(nil, .durable)]
                })),
            Mutant(
                "appends to what is there", breaks: "a second put replaces the first one whole",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    var grown: [StorageMutation] = []
                    for mutation in mutations {
                        guard case .put(.bytes(let new), let metadata) = mutation.operation,
                            case .bytes(let old)? = try await store.read(mutation.address).record?.payload
                        else {
                            grown.append(mutation)
                            continue
                        }
                        let longer = new + old.dropFirst(new.count)
                        grown.append(.put(.bytes(longer), metadata, at: mutation.address, if: mutation.precondition))
                    }
                    return try await store.apply(grown)
                })),
            Mutant(
                "reads repeated addresses once",
                breaks: "a read returns one probe for each address in their order, also for repeats and for no address",
                fault: FaultyStore.Fault(read: { store, addresses, freshness async throws(BackendError) in
                    try await store.read(Array(Set(addresses)), freshness)
                })),
            Mutant(
                "shows a locked store as an empty one", breaks: "values and tombstones are listed, deleted slots are not",
                "many slots are listed, each once", fault: FaultyStore.Fault(addresses: { _, _ async throws(BackendError) in [] })),
        ]
    }

    private static var preconditions: [Mutant] {
        [
            Mutant(
                "ignores preconditions", breaks: "the precondition absent holds for an empty slot only",
                "the precondition of a revision holds for that state only",
                "the revision of a deleted value opens nothing, also once the same value is back",
                "of 100 tasks that change one state exactly one wins, in every round",
                "of 100 tasks over two instances exactly one wins, in every round",
                "a precondition holds against what another instance wrote",
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
                "no revision is used again after reopening", "a revision stays as long as its state, and changes with it",
                fault: contentRevisions),
            Mutant(
                "gives a new revision with every read", breaks: "a revision stays as long as its state, and changes with it",
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

    private static var batches: [Mutant] {
        [
            Mutant(
                "applies a part of a batch", breaks: "a batch with a failing precondition changes nothing",
                "a batch with an unusable name changes nothing", fault: oneByOne),
            Mutant(
                "returns results in another order", breaks: "an apply returns one result for each mutation, in their order",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in try await store.apply(mutations).reversed()
                })),
            Mutant(
                "drops what does not fit into a batch of 100", breaks: "a large batch arrives whole",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let made = try await store.apply(Array(mutations.prefix(100)))
                    return made + mutations.dropFirst(100).map { _ in .applied(StorageRevision([1]), .durable) }
                })),
        ]
    }

    /// Gives equal values equal revisions, and takes them for preconditions.
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

    private static var metadata: [Mutant] {
        [
            Mutant(
                "loses metadata", breaks: "metadata comes back exactly, every field for itself and all together",
                "a put replaces the metadata whole: nothing of the old is left", "metadata survives reopening",
                fault: .mutations { mutation in
                    guard case .put(let payload, _) = mutation.operation else { return mutation }
                    return .put(payload, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "takes an empty text for none", breaks: "metadata comes back exactly, every field for itself and all together",
                fault: .mutations { mutation in
                    guard case .put(let payload, var metadata) = mutation.operation else { return mutation }
                    if metadata.serializer?.isEmpty == true { metadata.serializer = nil }
                    return .put(payload, metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "loses the metadata of tombstones", breaks: "a removed value leaves a tombstone with its metadata, and no value",
                fault: .mutations { mutation in
                    guard case .tombstone = mutation.operation else { return mutation }
                    return .tombstone(at: mutation.address, if: mutation.precondition)
                }),
        ]
    }

    private static var names: [Mutant] {
        [
            Mutant(
                "composes names", breaks: "two spellings of one text are two names",
                "a hostile name works exactly, or is refused as invalidName",
                "a hostile namespace works exactly, or is refused as invalidName", fault: .names { composed($0) }),
            Mutant(
                "forgets the case of names", breaks: "a hostile name works exactly, or is refused as invalidName",
                fault: .names { StorageAddress($0.name.lowercased(), in: $0.namespace) }),
            Mutant(
                "calls a name that it cannot use absent", breaks: "a hostile name works exactly, or is refused as invalidName",
                fault: .probes { probe in
                    if case .unavailable(let error) = probe, error.code == .invalidName { .absent } else { probe }
                }),
            Mutant(
                "joins namespace and name with a dot", breaks: "equal names in two namespaces are two slots",
                "a namespace lists its own slots only",
                fault: .names { $0.namespace == .values ? $0 : StorageAddress("\($0.namespace).\($0.name)") }),
            Mutant(
                "writes a name with a dot into another slot", breaks: "a hostile name works exactly, or is refused as invalidName",
                fault: .names { $0.name == ".hidden" ? StorageAddress("canary", in: $0.namespace) : $0 }),
        ]
    }

    /// An address with its combining acute accents composed, as some file systems do.
    private static func composed(_ address: StorageAddress) -> StorageAddress {
        func compose(_ text: String) -> String {
            let scalars = Array(text.unicodeScalars)
            var composed = String.UnicodeScalarView()
            for scalar in scalars {
                if scalar == "\u{301}", composed.last == "e" {
                    composed.removeLast()
                    composed.append("\u{E9}")
                } else {
                    composed.append(scalar)
                }
            }
            return String(composed)
        }
        return StorageAddress(compose(address.name), in: StorageNamespace(compose(address.namespace.name)))
    }

    private static var instances: [Mutant] {
        var forgetful = FaultyStore.Fault()
        forgetful.forgetsWhenReopened = true
        let stale = Mutex<[PhysicalSlot: StorageProbe]>([:])
        return [
            Mutant(
                "is empty when it is opened again", breaks: "a store keeps everything when it is closed and opened again",
                "metadata survives reopening", "a tombstone survives reopening", "an instance sees what another one wrote",
                "of 100 tasks over two instances exactly one wins, in every round", fault: forgetful),
            Mutant(
                "is another store every time", breaks: "two instances on one store have one identity and claim the same",
                fault: FaultyStore.Fault(identity: { _ in BackendIdentity(kind: "memory", store: "\(UInt64.random(in: 0 ... .max))") })),
            Mutant(
                "answers from memory that nobody validates", breaks: "an instance sees what another one wrote",
                "a second put replaces the first one whole",
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

    private static var foreign: [Mutant] {
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
                "takes damaged bytes for nothing", breaks: "damaged bytes are reported as corrupt and never overwritten unseen",
                "damage in one slot leaves the others readable, or nothing is claimed absent",
                fault: .probes { probe in if case .corrupt = probe { .absent } else { probe } }),
            Mutant(
                "writes over damaged bytes", breaks: "damaged bytes are reported as corrupt and never overwritten unseen",
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

    private static var timing: [Mutant] {
        [
            Mutant(
                "promises more than it claims",
                breaks: "after synchronize everything seen lasts at least as long as any change was promised to",
                fault: FaultyStore.Fault(synchronize: { _ async throws(BackendError) in .process })),
            Mutant(
                "does not do what its claim promises", breaks: "no change claims to last longer than the backend claims",
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
                breaks: "a cancelled caller leaves no half write, and an honest answer",
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let results = await Task { try? await store.apply(mutations) }.value
                    if Task.isCancelled { throw BackendError(.cancelled, "Cancelled.") }
                    return results ?? []
                })),
            Mutant(
                "mixes slots up when it is in a hurry", breaks: "tasks that use different slots at once do not disturb each other",
                fault: .names { $0.name == "slot 4" ? StorageAddress("slot 5", in: $0.namespace) : $0 }),
            Mutant(
                "writes the metadata after the value", breaks: "a read never sees a value that was not put whole",
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
