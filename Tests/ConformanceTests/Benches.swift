import BackendConformance
import BackendContract
import BackendRuntime
import FolderStore
import Foundation
import MemoryBackend
import TestSupport

/// All benches. A law is a rule for every backend, and a bench makes the stores of one backend on which the laws are checked.
/// A new backend needs one line here.
let benches: [LawBench] = [
    .memory(),
    .memory("memory as a durable store between processes", durableStoreClaims),
    .memory("memory as a small store without batches", smallStoreClaims),
    .rehearsal("rehearsal over memory", durableStoreClaims, mixes: false),
    .rehearsal("rehearsal over memory that changes meanwhile", durableStoreClaims, mixes: true),
    .rehearsal("rehearsal over a small store without batches", smallStoreClaims, mixes: true),
    Mutant("memory that seals names", claims: Mutant.sealedClaims, fault: FaultyStore.Fault()).bench,
    .folder,
    .propertyList,
]

/// Capabilities like those of a property list.
private let durableStoreClaims = BackendCapabilities(
    durability: .durable, atomicBatch: true, crossProcess: true, protection: .plain, storesNativeValues: true, sharedWithOthers: true)

/// Capabilities like those of a keyring.
private let smallStoreClaims = BackendCapabilities(
    durability: .untilPowerLoss, crossProcess: true, protection: .keychain, maximumValueSize: 20_000, sharedWithOthers: true)

extension LawBench {
    /// A bench of stores in memory. `wrap` can put a faulty store around each of them, for tests of stores that break laws.
    static func memory(
        _ name: String = "memory", _ capabilities: BackendCapabilities = InMemoryStore.ownCapabilities,
        wrap: @escaping @Sendable (InMemoryStore) -> any StorageBackend = { $0 },
        unwrap: @escaping @Sendable (any StorageBackend) -> MemoryMedium? = { medium(of: $0) }
    ) -> LawBench {
        @Sendable func medium(_ store: any StorageBackend) throws -> MemoryMedium {
            guard let medium = unwrap(store) else { throw WrongStore() }
            return medium
        }
        return LawBench(
            name: name, capabilities: capabilities,
            makeStore: { wrap(InMemoryStore(capabilities: capabilities)) },
            reopen: { wrap(InMemoryStore(medium: try medium($0), capabilities: capabilities)) },
            writeForeign: { try medium($0).writeForeign(.native(.string($2)), at: $1) },
            changeBehindMetadata: { try medium($0).writeForeign(.native(.string($2)), at: $1) },
            corrupt: { try medium($0).corrupt($1, bytes: [0xBA, 0xD0]) })
    }

    /// A bench of the sample byte store, through `ByteStoreBackend`.
    static let folder = LawBench(
        name: "folder", capabilities: ByteStoreBackend(FolderByteStore(TemporaryDirectory.unendingFile("store"))).capabilities, scale: 0.5,
        makeStore: { ByteStoreBackend(FolderByteStore(TemporaryDirectory.unendingFile("store"))) },
        reopen: { ByteStoreBackend(FolderByteStore(URL(filePath: $0.identity.store))) },
        corrupt: { store, address in
            let file = URL(filePath: store.identity.store).appending(path: "n..\(hexadecimalText(of: address.name.utf8)).record")
            var bytes = try Data(contentsOf: file)
            bytes[bytes.count / 2] ^= 0x10
            try bytes.write(to: file)
        },
        findStrayTraces: { store in
            let names = try FileManager.default.contentsOfDirectory(atPath: store.identity.store)
            let beside = try FileManager.default.contentsOfDirectory(
                atPath: URL(filePath: store.identity.store).deletingLastPathComponent().path)
            if beside.count != 1 { return "\(beside.count) names where the folder should be alone" }
            return names.allSatisfy { $0.hasPrefix("n.") && $0.hasSuffix(".record") } ? nil : "a file in the folder that is no record"
        })
}

/// The error if a bench is given a store that it did not make.
struct WrongStore: Error {}

/// Returns the medium of a store in memory, which holds its content; nil for any other store.
@Sendable func medium(of store: any StorageBackend) -> MemoryMedium? { (store as? InMemoryStore)?.medium }
