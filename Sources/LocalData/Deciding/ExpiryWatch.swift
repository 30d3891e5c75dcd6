import BackendContract
import BackendRuntime
import Foundation
import Synchronization

/// Decides when an expired value may be purged: a day, by the boot clock, after a sweep first found it expired. Until then, reads treat the
/// value as absent. If the wall clock was wrong and is corrected, the value is valid again.
///
/// The ledger stores when sweeps found values expired. Without the ledger, values are purged later or never. On a machine without boot ids,
/// they are never purged.
final class ExpiryWatch: Sendable {
    private static let slot = "clock"
    /// For how many seconds a checkpoint also covers expired values that this process finds later.
    private static let pause = 60.0

    private struct State {
        /// The text that the ledger contained when it was last read. ``checkpoints`` is decoded from it.
        var text: String?
        var checkpoints = ExpiryCheckpoints()
        /// The clock reading of this process's last checkpoint.
        var noted: ClockReading?
    }

    private let ledger: MigrationLedger
    private let runtime: Runtime
    private let state = Mutex(State())

    init(_ ledger: MigrationLedger, runtime: Runtime) {
        (self.ledger, self.runtime) = (ledger, runtime)
    }

    /// Returns whether a record is expired and may be purged. If it is expired but must be kept, the ledger notes that it was found expired
    /// now.
    func mayPurge(_ record: StorageRecord) async -> Bool {
        guard let expiry = record.metadata.expiresAt, record.metadata.isExpired(at: runtime.clock.wallSeconds) else { return false }
        return await mayPurge(expiredAt: expiry)
    }

    /// Returns whether an expired value may be purged. If not, the ledger notes that the value was found expired now.
    /// ``MigrationLedger/flush()`` writes the note.
    /// - Parameter expiry: The time at which the value expired, in seconds since 1970.
    func mayPurge(expiredAt expiry: Double) async -> Bool {
        // Reason: "An expired value is purged a day after a sweep finds it" in Docs/Decisions/Expiry.md.
        guard let boot = runtime.host.bootID else { return false }
        let now = ClockReading(boot: boot, sinceBoot: runtime.clock.sinceBoot / .seconds(1), wall: runtime.clock.wallSeconds)
        let known = await recorded()
        if let horizon = known.horizon(at: now), expiry <= horizon { return true }
        let isNew = state.withLock { state in
            if let noted = state.noted, noted.isSteady(with: now), now.sinceBoot - noted.sinceBoot < Self.pause, expiry <= noted.wall {
                return false
            }
            state.noted = now
            return true
        }
        if isNew, let text = Self.text(of: known.adding(now)) { ledger.note(text, as: Self.slot) }
        return false
    }

    /// Removes the checkpoints that were written before the wall clock was set. If the wall clock is wrong by the same time again, they
    /// would count for values that are valid now. Every sweep calls this function, and every write of a value that expires.
    func forgetUnsteady() async {
        guard let boot = runtime.host.bootID else { return }
        let now = ClockReading(boot: boot, sinceBoot: runtime.clock.sinceBoot / .seconds(1), wall: runtime.clock.wallSeconds)
        let known = await recorded()
        let steady = known.steady(at: now)
        guard steady != known, let text = Self.text(of: steady) else { return }
        ledger.note(text, as: Self.slot)
        await ledger.flush()
    }

    private func recorded() async -> ExpiryCheckpoints {
        // A ledger that cannot be read counts as empty.
        let text = try? await ledger.text(Self.slot)
        if let known = state.withLock({ $0.text == text ? $0.checkpoints : nil }) { return known }
        let read = text.flatMap { try? JSONDecoder().decode(ExpiryCheckpoints.self, from: Data($0.utf8)) } ?? ExpiryCheckpoints()
        state.withLock { ($0.text, $0.checkpoints) = (text, read) }
        return read
    }

    private static func text(of checkpoints: ExpiryCheckpoints) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(checkpoints)).map { String(decoding: $0, as: UTF8.self) }
    }
}
