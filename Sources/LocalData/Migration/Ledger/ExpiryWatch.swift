import BackendContract
import BackendRuntime
import Foundation
import Synchronization

/// Says when an expired value may be purged: a day by the boot clock after a sweep first found it expired. Until then it is absent to every read, and comes back if the
/// wall clock was wrong and is set right.
///
/// What sweeps found is kept in the ledger. Without the ledger, and on a machine that does not tell its boots apart, values are purged later or never.
final class ExpiryWatch: Sendable {
    private static let slot = "clock"
    /// How many seconds pass until the same sweep writes another checkpoint.
    private static let pause = 60.0

    private struct State {
        /// What the ledger held when it was last read, and what that says.
        var text: String?
        var checkpoints = ExpiryCheckpoints()
        /// The last checkpoint of this process.
        var noted: ClockReading?
    }

    private let ledger: MigrationLedger
    private let runtime: Runtime
    private let state = Mutex(State())

    init(_ ledger: MigrationLedger, runtime: Runtime) {
        self.ledger = ledger
        self.runtime = runtime
    }

    /// Whether a record's lifetime has been over for so long that it may be purged. If not, the ledger notes that it was found expired.
    func mayPurge(_ record: StorageRecord) async -> Bool {
        guard let expiry = record.metadata.expiresAt, record.metadata.isExpired(at: runtime.clock.wallSeconds) else { return false }
        return await mayPurge(expiredAt: expiry)
    }

    /// Whether a value may be purged that expired at a time. If not, the ledger notes that it was found expired now; ``MigrationLedger/flush()`` writes the note.
    /// - Parameter expiry: In seconds since 1970.
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

    /// Removes the checkpoints from before the wall clock was set. Under a clock that is wrong by the same time again, they would count for values that are valid now. Every sweep
    /// calls this, and every write of a value that expires.
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
        // A ledger that cannot be read holds nothing.
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
