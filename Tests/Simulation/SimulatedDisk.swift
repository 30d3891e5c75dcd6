package import BackendContract
import Synchronization

/// The disk of a simulated machine: what programs see, and what would be left after a power cut.
///
/// A change shows at once, and reaches the disk some time later, or when somebody asks for it. A store that is one file keeps its changes in their order: a power cut leaves
/// the first so many. A store of many files keeps only the order of each slot.
package final class SimulatedDisk: Sendable {
    /// What stands in a slot.
    package enum Content: Hashable, Sendable {
        case value(StoragePayload, StorageMetadata, isForeign: Bool)
        case tombstone(StorageMetadata)
        case damaged([UInt8])
    }

    struct Slot: Hashable, Sendable {
        let content: Content
        let change: UInt64
    }

    /// Slots that were changed together.
    struct Change: Sendable {
        let number: UInt64
        let slots: [(address: StorageAddress, slot: Slot?)]
    }

    struct Medium: Sendable {
        var slots: [StorageAddress: Slot] = [:]
        var durable: [StorageAddress: Slot] = [:]
        /// What shows and is not on the disk yet, in order.
        var pending: [Change] = []
        var isOneFile: Bool
    }

    struct State {
        var media: [String: Medium] = [:]
        var changes: UInt64 = 0
    }

    private let state = Mutex(State())
    private let world: Simulation

    package init(_ world: Simulation) { self.world = world }

    func with<R>(_ name: String, isOneFile: Bool, _ body: (inout Medium) -> R) -> R {
        state.withLock { state in body(&state.media[name, default: Medium(isOneFile: isOneFile)]) }
    }

    func nextChange() -> UInt64 {
        state.withLock { state in
            state.changes += 1
            return state.changes
        }
    }

    /// Writes as another program does, which knows nothing of metadata.
    package func writeForeign(_ value: NativeValue, to name: String, at address: StorageAddress) {
        plant(.value(.native(value), StorageMetadata(), isForeign: true), in: name, at: address)
    }

    /// Puts bytes into a slot that are not a record.
    package func corrupt(_ name: String, _ address: StorageAddress, bytes: [UInt8]) { plant(.damaged(bytes), in: name, at: address) }

    private func plant(_ content: Content, in name: String, at address: StorageAddress) {
        let change = nextChange()
        with(name, isOneFile: true) { medium in
            medium.change(change, [(address, Slot(content: content, change: change))])
            medium.flush()
        }
    }

    /// The texts of the values that anybody can read in a medium.
    package func values(in name: String) -> [StorageAddress: StoragePayload] {
        state.withLock { state in
            (state.media[name]?.slots ?? [:]).compactMapValues { slot in
                if case .value(let payload, _, _) = slot.content { payload } else { nil }
            }
        }
    }

    /// Cuts the power: of what has not reached the disk, the seed says what is left.
    package func cutPower() {
        for name in state.withLock({ $0.media.keys.sorted() }) {
            with(name, isOneFile: true) { medium in
                if medium.isOneFile {
                    let kept = world.draw(medium.pending.count + 1)
                    for change in medium.pending.prefix(kept) { medium.keep(change) }
                } else {
                    // Each slot is a file of its own: the last so many of its changes are lost.
                    var order: [StorageAddress] = []
                    var bySlot: [StorageAddress: [Slot?]] = [:]
                    for change in medium.pending {
                        for (address, slot) in change.slots {
                            if bySlot[address] == nil { order.append(address) }
                            bySlot[address, default: []].append(slot)
                        }
                    }
                    for address in order {
                        let states = bySlot[address] ?? []
                        let kept = world.draw(states.count + 1)
                        if kept > 0 { medium.durable[address] = states[kept - 1] }
                    }
                }
                medium.pending = []
                medium.slots = medium.durable
            }
        }
        world.restart()
    }
}

extension SimulatedDisk.Medium {
    mutating func change(_ number: UInt64, _ slots: [(address: StorageAddress, slot: SimulatedDisk.Slot?)]) {
        for (address, slot) in slots { self.slots[address] = slot }
        pending.append(SimulatedDisk.Change(number: number, slots: slots))
    }

    mutating func keep(_ change: SimulatedDisk.Change) { for (address, slot) in change.slots { durable[address] = slot } }

    /// Everything that shows is on the disk.
    mutating func flush() {
        pending = []
        durable = slots
    }
}
