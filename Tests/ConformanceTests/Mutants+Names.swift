import BackendContract
import MemoryBackend
import TestSupport

extension Mutant {
    static var metadata: [Mutant] {
        [
            Mutant(
                "loses metadata", breaks: "metadata is read exactly as written, each field alone and all together",
                "a put replaces all metadata", "metadata survives reopening",
                fault: .mutations { mutation in
                    guard case .put(let payload, _) = mutation.operation else { return mutation }
                    return .put(payload, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "takes an empty text for none", breaks: "metadata is read exactly as written, each field alone and all together",
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

    static var names: [Mutant] {
        [
            Mutant(
                "composes names", breaks: "two spellings of one text in Unicode are two names",
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

    /// Composes each e with a combining acute accent in an address, as some file systems do.
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
}
