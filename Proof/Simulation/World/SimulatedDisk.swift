package import BackendContract
import Synchronization

/// The disk of a simulated machine. It separates visible content from the content that survives a power cut.
///
/// A change is visible at once, and durable when a store flushes it. A power cut also keeps some of the changes that
/// were not flushed; the seed decides which. A store in one file loses only its last changes. A store with many files
/// loses the last changes of each slot.
package final class SimulatedDisk: Sendable {
    /// The content of a slot.
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
        /// The changes that are visible and not durable yet, in order.
        var pending: [Change] = []
        var isOneFile: Bool
    }

    /// Bytes in a slot that are not a record.
    struct Damage: Sendable {
        let medium: String
        let address: StorageAddress
        let bytes: [UInt8]
    }

    struct State {
        var media: [String: Medium] = [:]
        var changes: UInt64 = 0
        var tears = false
        /// Bytes that were never a record, and their slots. The library must not destroy them without a user's
        /// review.
        var damage: [Damage] = []
        /// The observer of all written contents. It checks that no secret is written in plaintext.
        var watch: (@Sendable (_ medium: String, Content) -> Void)?
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

    /// Whether a power cut may leave a partly written first item in a slot.
    func setTears(_ tears: Bool) { state.withLock { $0.tears = tears } }

    /// Sets the observer of all contents that are written to any store.
    func watch(_ action: @escaping @Sendable (_ medium: String, Content) -> Void) { state.withLock { $0.watch = action } }

    func show(_ content: Content, in medium: String) { state.withLock(\.watch)?(medium, content) }

    /// Adds a line to the trace of a run: which process changed a slot, and the new content.
    func note(_ process: String, _ medium: String, _ address: StorageAddress, _ content: Content?) {
        guard world.isTraced else { return }
        let what =
            switch content {
            case .value(let payload, let metadata, _): "\(payload) \(String(decoding: metadata.origin ?? [], as: UTF8.self))"
            case .tombstone(let metadata): "a tombstone \(String(decoding: metadata.origin ?? [], as: UTF8.self))"
            case .damaged: "damage"
            case nil: "nothing"
            }
        world.note(0, "\(process) leaves \(what) in \(medium), \(address.namespace.name)/\(address.name)")
    }

    /// All bytes that were put into slots and were not a record.
    var damage: [Damage] { state.withLock(\.damage) }

    /// Writes a value as a program without LocalData does, without metadata. A nil value removes the slot.
    package func writeForeign(_ value: NativeValue?, to name: String, at address: StorageAddress) {
        plant(value.map { .value(.native($0), StorageMetadata(), isForeign: true) }, in: name, at: address)
    }

    /// Damages a slot: puts bytes into it that are not a record.
    package func corrupt(_ name: String, _ address: StorageAddress, bytes: [UInt8]) {
        state.withLock { $0.damage.append(Damage(medium: name, address: address, bytes: bytes)) }
        plant(.damaged(bytes), in: name, at: address)
    }

    /// Changes the content of a slot durably.
    func plant(_ content: Content?, in name: String, at address: StorageAddress, isOneFile: Bool = true) {
        let change = nextChange()
        if let content { show(content, in: name) }
        with(name, isOneFile: isOneFile) { medium in
            medium.change(change, [(address, content.map { Slot(content: $0, change: change) })])
            medium.flush(only: medium.isOneFile ? nil : [address])
        }
    }

    /// The visible content of a store.
    func contents(of name: String) -> [StorageAddress: Content] { state.withLock { ($0.media[name]?.slots ?? [:]).mapValues(\.content) } }

    /// The visible record in a slot.
    func record(of medium: String, _ address: StorageAddress) -> StorageRecord? {
        guard case .value(let payload, let metadata, let isForeign)? = contents(of: medium)[address] else { return nil }
        let revision = SimulatedStore.revision(change(of: medium, address))
        return StorageRecord(payload: payload, metadata: metadata, revision: revision, isForeign: isForeign)
    }

    /// The number of the last change of a slot; 0 for an empty slot.
    func change(of medium: String, _ address: StorageAddress) -> UInt64 { state.withLock { $0.media[medium]?.slots[address]?.change ?? 0 } }

    /// The visible content of all stores except the named ones, for a comparison of two moments.
    func picture(without names: Set<String>) -> [String: [StorageAddress: Content]] {
        state.withLock { state in
            state.media.filter { !names.contains($0.key) }.mapValues { $0.slots.mapValues(\.content) }
        }
    }

    /// Stops the machine in order, which makes all visible content durable, and starts it again.
    package func restart() {
        state.withLock { state in for name in state.media.keys { state.media[name]?.flush() } }
        world.restart()
    }

    /// Cuts the power and starts the machine again. The seed decides which pending changes are lost.
    package func cutPower() {
        let tears = state.withLock(\.tears)
        for name in state.withLock({ $0.media.keys.sorted() }) {
            let torn = with(name, isOneFile: true) { medium in
                if medium.isOneFile {
                    let kept = world.draw(medium.pending.count + 1)
                    for change in medium.pending.prefix(kept) { medium.keep(change) }
                    return [Damage]()
                }
                return loseSlots(of: &medium, name, tears)
            }
            with(name, isOneFile: true) { medium in
                medium.pending = []
                medium.slots = medium.durable
            }
            state.withLock { $0.damage += torn }
        }
        world.restart()
    }

    /// Loses the last few changes of each slot, because each slot is a separate file. The first content of a new slot
    /// may be kept in part.
    private func loseSlots(of medium: inout Medium, _ name: String, _ tears: Bool) -> [Damage] {
        var order: [StorageAddress] = []
        var bySlot: [StorageAddress: [Slot?]] = [:]
        for change in medium.pending {
            for (address, slot) in change.slots {
                if bySlot[address] == nil { order.append(address) }
                bySlot[address, default: []].append(slot)
            }
        }
        var torn: [Damage] = []
        for address in order {
            let states = bySlot[address] ?? []
            let kept = world.draw(states.count + 1)
            if kept > 0 { medium.durable[address] = states[kept - 1] }
            if tears, medium.durable[address] == nil, kept < states.count, case .value = states[kept]?.content, world.draw(2) == 0 {
                // A keyring first saves a new item without its secret, so a power cut may leave an empty item.
                medium.durable[address] = Slot(content: .damaged([]), change: UInt64(1) << 32 + UInt64(world.draw(1 << 30)))
                torn.append(Damage(medium: name, address: address, bytes: []))
            }
        }
        return torn
    }
}

extension SimulatedDisk.Medium {
    mutating func change(_ number: UInt64, _ slots: [(address: StorageAddress, slot: SimulatedDisk.Slot?)]) {
        for (address, slot) in slots { self.slots[address] = slot }
        pending.append(SimulatedDisk.Change(number: number, slots: slots))
    }

    mutating func keep(_ change: SimulatedDisk.Change) { for (address, slot) in change.slots { durable[address] = slot } }

    /// Makes the visible content durable: everything, or only some slots of a store with many files.
    mutating func flush(only addresses: Set<StorageAddress>? = nil) {
        guard let addresses else {
            pending = []
            durable = slots
            return
        }
        for address in addresses { durable[address] = slots[address] }
        pending = pending.compactMap { change in
            let rest = change.slots.filter { !addresses.contains($0.address) }
            return rest.isEmpty ? nil : SimulatedDisk.Change(number: change.number, slots: rest)
        }
    }
}
