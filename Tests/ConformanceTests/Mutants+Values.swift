import BackendContract
import MemoryBackend
import TestSupport

extension Mutant {
    static var values: [Mutant] {
        [
            Mutant(
                "cuts values off at 64 KiB",
                breaks: "a value of 1 MiB is stored completely, or refused as too large before anything is written",
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
                "returns native values as bytes", breaks: "a native value of every kind is read as written",
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
                "appends to what is there", breaks: "a second put replaces the first one completely",
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
}
