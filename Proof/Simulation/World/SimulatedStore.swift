package import BackendContract
package import BackendRuntime
import Synchronization

/// One process's view of a store on a simulated disk. It works on a lane (a serial queue) of the process, and stops for
/// good when the process ends.
package final class SimulatedStore: StorageBackend, CountedBackend {
    /// The properties that distinguish one kind of store from another.
    package struct Nature: Sendable {
        package var capabilities: BackendCapabilities
        /// Whether the changes of the store become durable in their order, like changes of a single file.
        package var isOneFile = true
        /// Whether other processes see a change before it is durable. They see a renamed file early, but a database's
        /// commit only when it is durable.
        package var showsEarly = true
        /// The durability that the store reports for an acknowledged change.
        package var acknowledges = StorageDurability.durable

        package init(_ capabilities: BackendCapabilities) { self.capabilities = capabilities }

        /// A property list.
        package static let list = Nature(
            BackendCapabilities(
                durability: .durable, atomicBatch: true, crossProcess: true, protection: .plain, storesNativeValues: true,
                sharedWithOthers: true,
                usefulConcurrency: 64))

        /// A database of sealed rows.
        package static let database: Nature = {
            var nature = Nature(
                BackendCapabilities(durability: .durable, atomicBatch: true, crossProcess: true, protection: .sealed, usefulConcurrency: 64)
            )
            nature.showsEarly = false
            return nature
        }()

        /// A keyring. It saves each item separately.
        package static func ring(acknowledges: StorageDurability = .durable) -> Nature {
            var nature = Nature(BackendCapabilities(durability: .durable, crossProcess: true, protection: .keychain, usefulConcurrency: 2))
            nature.isOneFile = false
            nature.acknowledges = acknowledges
            return nature
        }
    }

    /// Ways in which a simulated store can break the contract of a backend. Each of them is a mutant: at least one run
    /// with such a store must break a rule.
    package struct Faults: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// Acknowledges a change as durable without flushing it.
        package static let lies = Faults(rawValue: 1 << 0)
        /// Ignores preconditions.
        package static let forgetsConditions = Faults(rawValue: 1 << 1)
        /// Reports a locked slot as absent.
        package static let callsLockedAbsent = Faults(rawValue: 1 << 2)
        /// Reports a slot as absent when the store is unavailable.
        package static let callsUnavailableAbsent = Faults(rawValue: 1 << 3)
        /// Releases its lock between checking a precondition and making the change.
        package static let dropsLock = Faults(rawValue: 1 << 4)
        /// Deletes a slot where it should leave a tombstone.
        package static let forgetsTombstones = Faults(rawValue: 1 << 5)
        /// Reports every change as durable, even if a power loss may undo the changes of this kind of store.
        package static let overstatesDurability = Faults(rawValue: 1 << 6)
        /// Claims to protect its content as a keyring does.
        package static let overstatesProtection = Faults(rawValue: 1 << 7)
    }

    package let identity: BackendIdentity
    package let capabilities: BackendCapabilities
    private let disk: SimulatedDisk
    private let process: SimulatedProcess
    private let runtime: Runtime
    private let lane: any Lane
    private let medium: String
    private let nature: Nature
    private let faults: Faults
    private let weather: StoreConditions

    /// How long a call may take.
    package static let deadline = Duration.seconds(10)

    /// Creates a view of a store.
    /// - Parameters:
    ///   - medium: The name of the store on the disk.
    ///   - nature: The kind of store.
    ///   - runtime: The runtime of the process, which supplies the store's lane.
    ///   - faults: The ways in which the store breaks its contract.
    ///   - weather: Says which stores of the run are locked, unavailable or full at the moment, and which calls fail.
    ///     The store reports each read to it, so that a simulation can count the reads.
    package init(
        _ medium: String, _ nature: Nature, on disk: SimulatedDisk, of process: SimulatedProcess, _ runtime: Runtime, faults: Faults = [],
        weather: StoreConditions = StoreConditions()
    ) {
        identity = BackendIdentity(kind: "simulated", store: medium)
        var capabilities = nature.capabilities
        if faults.contains(.overstatesProtection) { capabilities.protection = .keychain }
        self.capabilities = capabilities
        self.disk = disk
        self.process = process
        self.runtime = runtime
        lane = runtime.makeLane("\(process.name)/\(medium)")
        self.medium = medium
        self.nature = nature
        self.faults = faults
        self.weather = weather
    }

    /// Creates a view of this store for a new process.
    package func relaunched() -> SimulatedStore {
        SimulatedStore(medium, nature, on: disk, of: SimulatedProcess("another"), runtime, faults: faults, weather: weather)
    }

    /// Changes the disk directly, without the store, as another program would.
    package func behind(_ change: (SimulatedDisk, _ medium: String) -> Void) { change(disk, medium) }

    /// The durability that the store reports for a change.
    private var acknowledged: StorageDurability { faults.contains(.overstatesDurability) ? .durable : nature.acknowledges }

    private static let outOfReach = BackendError(.unavailable, "The store cannot be reached. Nothing was changed.")

    /// Runs work on the lane. If the process has ended, the work does not run, and the caller gets no answer.
    private func work<R: Sendable>(
        isMutation: Bool, _ body: @escaping @Sendable () throws(BackendError) -> R
    ) async throws(BackendError) -> R {
        let process = process
        try process.checkIsKept()
        let result: Result<R, BackendError>
        do throws(BackendError) {
            result = .success(
                try await lane.run(
                    clock: runtime.clock, deadline: runtime.clock.now.advanced(by: Self.deadline), isMutation: isMutation
                ) { (_: LaneCall<R>) throws(BackendError) in
                    if process.hasEnded { throw SimulatedProcess.ended }
                    return try body()
                })
        } catch { result = .failure(error) }
        try await process.goOn()
        return try result.get()
    }

    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await work(isMutation: false) { [self] () throws(BackendError) -> [StorageProbe] in
            if weather.takeFailure(of: medium) != nil { throw BackendError(.failed, "The store could not be read.") }
            let trouble = weather.trouble(of: medium)
            weather.lookedAt(medium, addresses)
            return disk.with(medium, isOneFile: nature.isOneFile) { medium in
                addresses.map { address in
                    do throws(BackendError) { try address.validate() } catch { return .unavailable(error) }
                    switch trouble {
                    case .locked: return faults.contains(.callsLockedAbsent) ? .absent : .locked
                    case .unavailable: return faults.contains(.callsUnavailableAbsent) ? .absent : .unavailable(Self.outOfReach)
                    case .full, nil: return Self.probe(medium.slots[address])
                    }
                }
            }
        }
    }

    package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        guard Set(mutations.map(\.address)).count == mutations.count else {
            throw BackendError(.unsupported, "An address occurs twice in one call. Nothing was changed.")
        }
        if faults.contains(.dropsLock) {
            let refused = try await work(isMutation: false) { [self] () throws(BackendError) -> [MutationResult?] in
                refusals(of: mutations, minding: true)
            }
            guard refused.allSatisfy({ $0 == nil }) else { return refused.map { $0 ?? .notAttempted } }
        }
        let minds = faults.isDisjoint(with: [.dropsLock, .forgetsConditions])
        let results = try await work(isMutation: true) { [self] () throws(BackendError) in
            switch weather.takeFailure(of: medium) {
            case .refuse: throw BackendError(.failed, "The store failed. Nothing was changed.")
            case .vanish:
                throw BackendError(.failed, "The store failed, and it is not known whether it made the change.", outcome: .unknown)
            case .loseAnswer:
                _ = change(mutations, minding: minds)
                throw BackendError(.failed, "The store failed, and it is not known whether it made the change.", outcome: .unknown)
            case nil: break
            }
            let results = change(mutations, minding: minds)
            if !nature.showsEarly { flush(mutations) }
            return results
        }
        if nature.showsEarly {
            do throws(BackendError) { try await work(isMutation: true) { [self] in flush(mutations) } } catch {
                // The change is visible already, whether or not the flush succeeded.
                throw BackendError(error.code, error.reason, outcome: .unknown)
            }
        }
        return results
    }

    private func flush(_ mutations: [StorageMutation]) {
        guard nature.acknowledges == .durable, !faults.contains(.lies) else { return }
        disk.with(medium, isOneFile: nature.isOneFile) { $0.flush(only: nature.isOneFile ? nil : Set(mutations.map(\.address))) }
    }

    private func refusals(of mutations: [StorageMutation], minding: Bool) -> [MutationResult?] {
        let trouble = weather.trouble(of: medium)
        return disk.with(medium, isOneFile: nature.isOneFile) { refusals(of: mutations, $0, trouble, minding: minding) }
    }

    private func refusals(
        of mutations: [StorageMutation], _ medium: SimulatedDisk.Medium, _ trouble: StoreConditions.Trouble?, minding: Bool
    ) -> [MutationResult?] {
        mutations.map { mutation in
            do throws(BackendError) { try mutation.address.validate() } catch { return .failed(error) }
            switch trouble {
            case .locked: return .locked
            case .unavailable: return .failed(Self.outOfReach)
            case .full where mutation.operation != .check: return .failed(BackendError(.noSpace, "The disk is full. Nothing was changed."))
            case .full, nil: break
            }
            if case .put(.native, _) = mutation.operation, !capabilities.storesNativeValues {
                return .failed(BackendError(.unsupported, "This store takes bytes only, no native values."))
            }
            return minding ? Self.probe(medium.slots[mutation.address]).refusal(of: mutation) : nil
        }
    }

    /// Checks the preconditions and makes the changes under the store's lock.
    private func change(_ mutations: [StorageMutation], minding: Bool) -> [MutationResult] {
        let trouble = weather.trouble(of: medium)
        let number = disk.nextChange()
        typealias Made = (results: [MutationResult], slots: [(StorageAddress, SimulatedDisk.Slot?)])
        let made = disk.with(medium, isOneFile: nature.isOneFile) { medium -> Made in
            let refusals = refusals(of: mutations, medium, trouble, minding: minding)
            if capabilities.atomicBatch, refusals.contains(where: { $0 != nil }) { return (refusals.map { $0 ?? .notAttempted }, []) }
            var slots: [(StorageAddress, SimulatedDisk.Slot?)] = []
            let results = zip(mutations, refusals).map { mutation, refusal -> MutationResult in
                if let refusal { return refusal }
                if mutation.operation == .check {
                    return .applied(Self.probe(medium.slots[mutation.address]).revision, acknowledged)
                }
                let content: SimulatedDisk.Content? =
                    switch mutation.operation {
                    case .put(let payload, let metadata): .value(payload, metadata, isForeign: false)
                    case .tombstone(let metadata): faults.contains(.forgetsTombstones) ? nil : .tombstone(metadata)
                    case .delete, .check: nil
                    }
                slots.append((mutation.address, content.map { SimulatedDisk.Slot(content: $0, change: number) }))
                return .applied(content == nil ? nil : Self.revision(number), acknowledged)
            }
            if !slots.isEmpty { medium.change(number, slots) }
            return (results, slots)
        }
        for case (_, let slot?) in made.slots { disk.show(slot.content, in: medium) }
        for (address, slot) in made.slots { disk.note(process.name, medium, address, slot?.content) }
        return made.results
    }

    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await work(isMutation: false) { [self] () throws(BackendError) in
            switch weather.trouble(of: medium) {
            case .locked: throw BackendError(.locked, "The store is locked.")
            case .unavailable: throw Self.outOfReach
            case .full, nil: break
            }
            return disk.with(medium, isOneFile: nature.isOneFile) { medium in
                medium.slots.keys.filter { $0.namespace == namespace }.sorted { $0.name < $1.name }
            }
        }
    }

    /// Counts the values for each query, as a database does for which one count is the answer.
    package func storedCounts(of queries: [StorageQuery]) async throws(BackendError) -> [Int?] {
        try await work(isMutation: false) { [self] () throws(BackendError) in
            switch weather.trouble(of: medium) {
            case .locked: throw BackendError(.locked, "The store is locked.")
            case .unavailable: throw Self.outOfReach
            case .full, nil: break
            }
            return disk.with(medium, isOneFile: nature.isOneFile) { medium in
                queries.map { query in
                    medium.slots.count { address, slot in
                        guard address.namespace == query.namespace, case .value(_, let metadata, _) = slot.content else { return false }
                        return query.matches(metadata)
                    }
                }
            }
        }
    }

    package func synchronize() async throws(BackendError) -> StorageDurability {
        try await work(isMutation: true) { [self] () throws(BackendError) in
            if weather.hidesContent(of: medium) { throw Self.outOfReach }
            if nature.acknowledges == .durable, !faults.contains(.lies) { disk.with(medium, isOneFile: nature.isOneFile) { $0.flush() } }
            return acknowledged
        }
    }

    private static func probe(_ slot: SimulatedDisk.Slot?) -> StorageProbe {
        guard let slot else { return .absent }
        switch slot.content {
        case .value(let payload, let metadata, let isForeign):
            return .value(StorageRecord(payload: payload, metadata: metadata, revision: revision(slot.change), isForeign: isForeign))
        case .tombstone(let metadata): return .tombstone(StorageTombstone(metadata: metadata, revision: revision(slot.change)))
        case .damaged(let bytes):
            return .corrupt(StorageCorruption(bytes: bytes, revision: revision(slot.change), reason: "the bytes are not a record"))
        }
    }

    static func revision(_ change: UInt64) -> StorageRevision {
        StorageRevision(withUnsafeBytes(of: change.bigEndian) { Array($0) })
    }
}
