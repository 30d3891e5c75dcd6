import BackendContract
import MemoryBackend
import TestSupport

/// Stores with one fault each. A law that no mutant breaks is a law that may not be checked at all.
extension Mutant {
    static let all: [Mutant] = values + preconditions + batches + metadata + names + pages + instances + foreign + timing + small

    /// Stores that claim little, for the laws that bind only those.
    private static var small: [Mutant] {
        let claims = BackendCapabilities(durability: .durable, maximumValueSize: 20_000)
        return [
            Mutant(
                "cuts off what is too large", breaks: "the largest value claimed fits, and one byte more is refused as too large",
                "a value of 1 MiB is kept whole, or refused as too large before anything is written", claims: claims,
                fault: .mutations { mutation in
                    guard case .put(.bytes(let bytes), let metadata) = mutation.operation else { return mutation }
                    return .put(.bytes(Array(bytes.prefix(20_000))), metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "takes native values that it does not claim", breaks: "a native value is refused as unsupported where none are claimed",
                claims: claims,
                fault: .mutations { mutation in
                    guard case .put(.native(let value), let metadata) = mutation.operation else { return mutation }
                    return .put(.bytes(value.canonicalBytes), metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "calls everything applied if anything was", breaks: "of mutations that are not a batch each result is true by itself",
                claims: claims,
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let results = try await store.apply(mutations)
                    guard mutations.count > 1, let done = results.first(where: \.isApplied) else { return results }
                    return results.map { $0.isApplied ? $0 : done }
                })),
        ]
    }
}
