import BackendContract
import MemoryBackend
import Synchronization
import TestSupport

/// Mutants are stores with one fault each. A law that no mutant breaks perhaps checks nothing.
extension Mutant {
    static let all: [Mutant] = values + preconditions + batches + metadata + names + pages + instances + foreign + salvage + timing + small

    /// Mutants with few capabilities, for the laws that apply only to such stores.
    private static var small: [Mutant] {
        let claims = BackendCapabilities(durability: .durable, maximumValueSize: 20_000)
        return [
            Mutant(
                "cuts off what is too large", breaks: "the largest value claimed fits, and one byte more is refused as too large",
                "a value of 1 MiB is stored completely, or refused as too large before anything is written", claims: claims,
                fault: .mutations { mutation in
                    guard case .put(.bytes(let bytes), let metadata) = mutation.operation else { return mutation }
                    return .put(.bytes(Array(bytes.prefix(20_000))), metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "leaves metadata out of a value's size", breaks: "metadata counts as a part of a value's size", claims: claims,
                fault: .mutations { mutation in
                    guard case .put(let payload, var metadata) = mutation.operation else { return mutation }
                    (metadata.origin, metadata.attributes) = (nil, [:])
                    return .put(payload, metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "fails all calls of a group for one of them",
                breaks: "a refused call does not affect other calls made at the same time", claims: claims,
                fault: sharedFailure),
            Mutant(
                "takes native values that it does not claim", breaks: "a backend without native values refuses them as unsupported",
                claims: claims,
                fault: .mutations { mutation in
                    guard case .put(.native(let value), let metadata) = mutation.operation else { return mutation }
                    return .put(.bytes(value.canonicalBytes), metadata, at: mutation.address, if: mutation.precondition)
                }),
            Mutant(
                "calls everything applied if anything was", breaks: "without atomic batches, each mutation has a separate, true result",
                claims: claims,
                fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                    let results = try await store.apply(mutations)
                    guard mutations.count > 1, let done = results.first(where: \.isApplied) else { return results }
                    return results.map { $0.isApplied ? $0 : done }
                })),
        ]
    }

    /// A fault that refuses all concurrent calls as soon as one of them is refused.
    private static var sharedFailure: FaultyStore.Fault {
        let refusal = Shared<BackendError?>(nil)
        return FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
            let results = try await store.apply(mutations)
            for case .failed(let error) in results { refusal.value.withLock { $0 = error } }
            guard results.allSatisfy(\.isApplied) else { return results }
            _ = try await store.apply(mutations.map { .delete($0.address) })
            while true {
                if let error = refusal.value.withLock({ $0 }) { return mutations.map { _ in .failed(error) } }
                await Task.yield()
            }
        })
    }
}
