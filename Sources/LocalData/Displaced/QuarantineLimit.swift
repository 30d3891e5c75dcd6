import BackendContract
import BackendRuntime
import Synchronization

/// Limits the size of the quarantine, which is one list that is read and written as a whole. A full quarantine refuses new entries, so the
/// records that would be displaced stay where they are. It never drops an entry.
///
/// Several processes that add entries at the same time can exceed a limit by ``interval`` entries each.
package final class QuarantineLimit: Sendable {
    /// The maximum number of entries.
    package static let entries = 8_192
    /// The maximum size of all entries together, in bytes.
    package static let bytes = 32 << 20
    /// The maximum number of entries from one slot. A program that keeps writing one slot cannot fill the quarantine for all others.
    static let entriesOfSlot = 256
    /// The approximate size of an entry's name and metadata.
    private static let overhead = 1_024
    /// The number of entries that this process adds before it measures the quarantine again.
    private static let interval = 64
    /// How long a full quarantine counts as full before it is measured again.
    private static let pause = Duration.seconds(1)

    /// The size of the quarantine when it was measured, and the entries that this process has added since.
    private struct Size: Sendable {
        /// The time since boot.
        let measuredAt: Duration
        var entries = 0
        var bytes = 0
        var entriesOfSlot: [String: Int] = [:]
        var added = 0

        init(at sinceBoot: Duration) { measuredAt = sinceBoot }

        mutating func add(_ count: Int, of slot: String) {
            entries += 1
            bytes += count + QuarantineLimit.overhead
            entriesOfSlot[slot, default: 0] += 1
        }

        /// The reason why an entry has no room; nil if it has.
        func refusal(of count: Int, of slot: String) -> String? {
            if entriesOfSlot[slot, default: 0] >= QuarantineLimit.entriesOfSlot {
                return "The quarantine already has \(QuarantineLimit.entriesOfSlot) values from this place"
            }
            if entries >= QuarantineLimit.entries { return "The quarantine is full: it has \(entries) values" }
            guard bytes + count + QuarantineLimit.overhead > QuarantineLimit.bytes else { return nil }
            return "The quarantine is full: it has \(bytes >> 20) MiB in \(entries) values"
        }
    }

    private let clock: any RuntimeClock
    private let size = Mutex<Size?>(nil)

    init(_ clock: any RuntimeClock) { self.clock = clock }

    /// Checks whether an entry has room.
    /// - Parameters:
    ///   - count: The size of its content in bytes.
    ///   - metadata: Its metadata, which name the slot from which it comes.
    ///   - address: Its address. If it is stored already, it needs no room.
    /// - Throws: ``StorageError`` with `noSpace` if it has no room, or another error if the quarantine cannot be read.
    func requireRoom(for count: Int, _ metadata: StorageMetadata, at address: StorageAddress, in store: any StorageBackend) async throws {
        let (key, slot) = (metadata.attributes["key"] ?? "", Self.slot(metadata))
        var known = size.withLock(\.self)
        if known.map({ isDue($0, count, slot) }) ?? true { known = try await measure(store, key) }
        guard let refusal = known?.refusal(of: count, of: slot) else { return }
        let standing = try await translatingErrors(key: key) { () throws(BackendError) in try await store.read(address) }
        if case .value = standing { return }
        throw StorageError(
            StorageError.noSpace, key: key,
            "\(refusal), so nothing was displaced, and the value stays where it is. Review the values, and purge those that are not needed: StorageRouter.quarantine, or the command localdata quarantine."
        )
    }

    /// Counts an entry that this process has added.
    func count(_ count: Int, _ metadata: StorageMetadata) {
        size.withLock { size in
            size?.add(count, of: Self.slot(metadata))
            size?.added += 1
        }
    }

    /// Measures the quarantine again before the next entry, because entries were purged.
    func reset() { size.withLock { $0 = nil } }

    private func isDue(_ size: Size, _ count: Int, _ slot: String) -> Bool {
        if size.added >= Self.interval { return true }
        return size.refusal(of: count, of: slot) != nil && clock.sinceBoot - size.measuredAt >= Self.pause
    }

    private func measure(_ store: any StorageBackend, _ key: String) async throws -> Size {
        var new = Size(at: clock.sinceBoot)
        let probes = try await translating(key, await store.read(try await store.addresses(in: .values), .validated))
        for probe in probes {
            switch probe {
            case .value(let record): new.add(record.payload.byteCount, of: Self.slot(record.metadata))
            case .corrupt(let corruption): new.add(corruption.bytes.count, of: "")
            case .unavailable(let error): throw StorageError.from(error, key: key)
            case .locked: throw StorageError(StorageError.locked, key: key, "The quarantine is locked. Nothing was changed.")
            case .absent, .tombstone: break
            }
        }
        let measured = new
        size.withLock { $0 = measured }
        return measured
    }

    private static func slot(_ metadata: StorageMetadata) -> String {
        "\(metadata.attributes["key"] ?? "")\n\(metadata.attributes["place"] ?? "")"
    }
}
