package import BackendContract
import Synchronization

/// One process's view of a store on a simulated disk. It lets others go first before and after each effect, and stops for good when its process ends.
package final class SimulatedStore: StorageBackend {
    /// What goes on in a process.
    package final class Process: Sendable {
        private let isOver = Mutex(false)
        package let name: String
        package init(_ name: String) { self.name = name }

        /// Ends the process where it is: what it does from now on reaches no store, and nobody is answered.
        package func end() { isOver.withLock { $0 = true } }

        package var hasEnded: Bool { isOver.withLock(\.self) }

        /// Goes on, or never does.
        func goOn() async {
            guard isOver.withLock({ $0 }) else { return }
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
    }

    /// What is wrong with a store for a while.
    package enum Trouble: Hashable, Sendable { case locked, unavailable }

    package let identity: BackendIdentity
    package let capabilities: BackendCapabilities
    private let world: Simulation
    private let disk: SimulatedDisk
    private let process: Process
    private let medium: String
    private let isOneFile: Bool
    private let showsEarly: Bool
    private let faults: Faults
    private let trouble: @Sendable () -> Trouble?

    /// What a store that does not keep the contract does. The checker has to notice.
    package struct Faults: Sendable {
        /// Acknowledges as durable what is not.
        package var lies = false
        /// Looks at no condition.
        package var forgetsConditions = false
        /// Calls a slot absent that it cannot look at.
        package var callsTroubleAbsence = false
        package init() {}
    }

    /// Creates a view.
    /// - Parameters:
    ///   - medium: The name of what it stands on.
    ///   - capabilities: What it claims. A store that claims `durable` makes each change durable before it is acknowledged; any other does so in `synchronize`.
    ///   - isOneFile: Whether its changes reach the disk in their order, as those of one file do.
    ///   - showsEarly: Whether others see a change before it is durable, as they see a file that was renamed; a database's commit shows when it is on the disk.
    ///   - trouble: What is wrong with it now.
    package init(
        _ medium: String, _ capabilities: BackendCapabilities, on disk: SimulatedDisk, of process: Process, in world: Simulation,
        isOneFile: Bool, showsEarly: Bool, faults: Faults = Faults(), trouble: @escaping @Sendable () -> Trouble? = { nil }
    ) {
        identity = BackendIdentity(kind: "simulated", store: medium)
        self.capabilities = capabilities
        self.world = world
        self.disk = disk
        self.process = process
        self.medium = medium
        self.isOneFile = isOneFile
        self.showsEarly = showsEarly
        self.faults = faults
        self.trouble = trouble
    }

    /// The same store, as a new process sees it.
    package func relaunched() -> SimulatedStore {
        SimulatedStore(
            medium, capabilities, on: disk, of: Process("another"), in: world, isOneFile: isOneFile, showsEarly: showsEarly, faults: faults,
            trouble: trouble)
    }

    /// What the store stands on, for somebody who changes it behind its back.
    package func behind(_ change: (SimulatedDisk, _ medium: String) -> Void) { change(disk, medium) }

    private func step() async throws(BackendError) {
        await world.pass()
        await process.goOn()
        if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
    }

    private static let outOfReach = BackendError(.unavailable, "The store cannot be reached. Nothing was changed.")

    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await step()
        let probes: [StorageProbe] = disk.with(medium, isOneFile: isOneFile) { medium in
            addresses.map { address in
                do throws(BackendError) { try address.validate() } catch { return .unavailable(error) }
                switch faults.callsTroubleAbsence ? nil : trouble() {
                case .locked: return .locked
                case .unavailable: return .unavailable(Self.outOfReach)
                case nil: return trouble() == nil ? probe(medium.slots[address]) : .absent
                }
            }
        }
        world.note("\(process.name) reads \(addresses.map(\.name)): \(probes.map(Self.kind))")
        await world.pass()
        await process.goOn()
        return probes
    }

    package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        guard Set(mutations.map(\.address)).count == mutations.count else {
            throw BackendError(.unsupported, "An address occurs twice in one call. Nothing was changed.")
        }
        try await step()
        let results = change(mutations)
        world.note("\(process.name) changes \(mutations.map(\.address.name)): \(results.map(\.isApplied))")
        if capabilities.durability == .durable {
            if showsEarly {
                await world.pass()
                await process.goOn()
            }
            if !faults.lies { disk.with(medium, isOneFile: isOneFile) { $0.flush() } }
        }
        await world.pass()
        await process.goOn()
        return results
    }

    private func change(_ mutations: [StorageMutation]) -> [MutationResult] {
        let number = disk.nextChange()
        return disk.with(medium, isOneFile: isOneFile) { medium in
            var refusals: [MutationResult?] = []
            for mutation in mutations {
                do throws(BackendError) { try mutation.address.validate() } catch {
                    refusals.append(.failed(error))
                    continue
                }
                switch trouble() {
                case .locked: refusals.append(.locked)
                case .unavailable: refusals.append(.failed(Self.outOfReach))
                case nil: refusals.append(refusal(of: mutation, medium))
                }
            }
            if capabilities.atomicBatch, refusals.contains(where: { $0 != nil }) { return refusals.map { $0 ?? .notAttempted } }
            var slots: [(StorageAddress, SimulatedDisk.Slot?)] = []
            let results = zip(mutations, refusals).map { mutation, refusal -> MutationResult in
                if let refusal { return refusal }
                let content: SimulatedDisk.Content?
                switch mutation.operation {
                case .put(let payload, let metadata): content = .value(payload, metadata, isForeign: false)
                case .tombstone(let metadata): content = .tombstone(metadata)
                case .delete: content = nil
                }
                slots.append((mutation.address, content.map { SimulatedDisk.Slot(content: $0, change: number) }))
                return .applied(content == nil ? nil : revision(number), capabilities.durability)
            }
            if !slots.isEmpty { medium.change(number, slots) }
            return results
        }
    }

    private func refusal(of mutation: StorageMutation, _ medium: SimulatedDisk.Medium) -> MutationResult? {
        if case .put(.native, _) = mutation.operation, !capabilities.storesNativeValues {
            return .failed(BackendError(.unsupported, "This store takes bytes only, no native values."))
        }
        return faults.forgetsConditions ? nil : probe(medium.slots[mutation.address]).refusal(of: mutation)
    }

    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await step()
        switch trouble() {
        case .locked: throw BackendError(.locked, "The store is locked.")
        case .unavailable: throw Self.outOfReach
        case nil: break
        }
        return disk.with(medium, isOneFile: isOneFile) { medium in
            medium.slots.keys.filter { $0.namespace == namespace }.sorted { $0.name < $1.name }
        }
    }

    package func synchronize() async throws(BackendError) -> StorageDurability {
        try await step()
        if trouble() != nil { throw Self.outOfReach }
        if !faults.lies { disk.with(medium, isOneFile: isOneFile) { $0.flush() } }
        await world.pass()
        await process.goOn()
        return .durable
    }

    private func probe(_ slot: SimulatedDisk.Slot?) -> StorageProbe {
        guard let slot else { return .absent }
        switch slot.content {
        case .value(let payload, let metadata, let isForeign):
            return .value(StorageRecord(payload: payload, metadata: metadata, revision: revision(slot.change), isForeign: isForeign))
        case .tombstone(let metadata): return .tombstone(StorageTombstone(metadata: metadata, revision: revision(slot.change)))
        case .damaged(let bytes):
            return .corrupt(StorageCorruption(bytes: bytes, revision: revision(slot.change), reason: "the bytes are not a record"))
        }
    }

    private func revision(_ change: UInt64) -> StorageRevision { StorageRevision(withUnsafeBytes(of: change.bigEndian) { Array($0) }) }

    private static func kind(_ probe: StorageProbe) -> String {
        switch probe {
        case .absent: "absent"
        case .value: "value"
        case .tombstone: "tombstone"
        case .locked: "locked"
        case .corrupt: "corrupt"
        case .unavailable: "unavailable"
        }
    }
}
