/// The readings of the machine's clocks at one moment.
struct ClockReading: Hashable, Sendable {
    /// The id of the boot from which ``sinceBoot`` counts.
    var boot: String
    /// The boot clock: the seconds since that boot. It cannot be set.
    var sinceBoot: Double
    /// The wall clock, in seconds since 1970. It can be set.
    var wall: Double

    /// Returns whether the wall clock was not set between two readings: they are from the same boot, and both clocks advanced
    /// by the same time, within ``ExpiryCheckpoints/tolerance``. Changes of the wall clock that cancel each other are not
    /// detected.
    func isSteady(with other: ClockReading) -> Bool {
        boot == other.boot && abs((wall - sinceBoot) - (other.wall - other.sinceBoot)) <= ExpiryCheckpoints.tolerance
    }
}

/// The times at which sweeps found expired values. They are the evidence that a lifetime is over, and that the wall clock is
/// not merely wrong.
///
/// A checkpoint contains the time of a sweep by the wall clock and by the boot clock. It counts for every value that had
/// expired before that time, so the ledger needs no note for each value. It counts only during the same boot, and only if the
/// wall clock has not been set since.
struct ExpiryCheckpoints: Codable, Hashable, Sendable {
    struct Checkpoint: Codable, Hashable, Sendable {
        let sinceBoot: Double
        let wall: Double
    }

    /// The time for which a value is kept after a sweep first found it expired, in seconds by the boot clock.
    static let delay = 86_400.0
    /// The maximum difference, in seconds, between the advances of wall clock and boot clock. If it is larger, the wall clock was set.
    /// Reason: "A checkpoint counts only while both clocks agree" in Docs/Decisions/Expiry.md.
    static let tolerance = 3_600.0
    /// Limits the length of the list: a new checkpoint replaces the latest one if the checkpoint before the latest one is
    /// younger than this, in seconds by the boot clock.
    static let spacing = 3_600.0

    private(set) var boot = ""
    /// The checkpoints in the order of the boot clock.
    private(set) var checkpoints: [Checkpoint] = []

    init() {}

    /// Returns the latest time of expiry of the values that may be purged, in seconds since 1970; nil if no value may be purged.
    func horizon(at now: ClockReading) -> Double? {
        valid(at: now).last { now.sinceBoot - $0.sinceBoot >= Self.delay && $0.wall <= now.wall }?.wall
    }

    /// Returns a copy with a checkpoint for the present time, and without the checkpoints that no longer count.
    func adding(_ now: ClockReading) -> ExpiryCheckpoints {
        var added = ExpiryCheckpoints()
        added.boot = now.boot
        var list = valid(at: now)
        // Keep only the latest of the checkpoints that are older than the delay: it also counts for the values of the others.
        // Reason: "The ledger keeps checkpoints, not a note for each value" in Docs/Decisions/Expiry.md.
        let old = list.count { now.sinceBoot - $0.sinceBoot >= Self.delay }
        list.removeFirst(max(0, old - 1))
        if list.count >= 2, now.sinceBoot - list[list.count - 2].sinceBoot < Self.spacing { list.removeLast() }
        added.checkpoints = list + [Checkpoint(sinceBoot: now.sinceBoot, wall: now.wall)]
        return added
    }

    /// Returns a copy without the checkpoints from before the wall clock was set. Checkpoints of another boot are kept.
    func steady(at now: ClockReading) -> ExpiryCheckpoints {
        var steady = self
        if boot == now.boot { steady.checkpoints = valid(at: now) }
        return steady
    }

    private func valid(at now: ClockReading) -> [Checkpoint] {
        guard boot == now.boot else { return [] }
        return checkpoints.filter { checkpoint in
            checkpoint.sinceBoot <= now.sinceBoot
                && ClockReading(boot: boot, sinceBoot: checkpoint.sinceBoot, wall: checkpoint.wall).isSteady(with: now)
        }
    }
}
