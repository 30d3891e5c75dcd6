/// What the clocks of the machine say at one moment.
struct ClockReading: Hashable, Sendable {
    /// The boot that ``sinceBoot`` counts from.
    var boot: String
    /// The time since that boot, in seconds; nobody can set it.
    var sinceBoot: Double
    /// The wall clock, in seconds since 1970; anybody can set it.
    var wall: Double

    /// Whether the wall clock was not set in between, as far as the two readings tell: both clocks went on by the same time.
    func isSteady(with other: ClockReading) -> Bool {
        boot == other.boot && abs((wall - sinceBoot) - (other.wall - other.sinceBoot)) <= ExpiryCheckpoints.tolerance
    }
}

/// When sweeps found values expired: the evidence that a lifetime is over, and not only the wall clock wrong.
///
/// A checkpoint says that a sweep saw the wall clock at a time, and when that was by the boot clock. It counts for every value whose expiry was past by then, so that there
/// need not be a note for each value. It counts only in the same boot, and only while the wall clock has not been set since.
struct ExpiryCheckpoints: Codable, Hashable, Sendable {
    struct Checkpoint: Codable, Hashable, Sendable {
        let sinceBoot: Double
        let wall: Double
    }

    /// How long a value is kept after a sweep first found it expired, in seconds by the boot clock.
    static let delay = 86_400.0
    /// By how many seconds wall clock and boot clock may drift apart: more means that somebody set the wall clock.
    /// Reason: "A checkpoint counts only while both clocks agree" in Docs/Decisions/Expiry.md.
    static let tolerance = 3_600.0
    /// How far apart checkpoints are kept, in seconds: so many make a day that the list stays short.
    static let spacing = 3_600.0

    private(set) var boot = ""
    /// In the order of the boot clock.
    private(set) var checkpoints: [Checkpoint] = []

    init() {}

    /// Up to which time of expiry values may be purged; nil when none may.
    func horizon(at now: ClockReading) -> Double? {
        valid(at: now).last { now.sinceBoot - $0.sinceBoot >= Self.delay && $0.wall <= now.wall }?.wall
    }

    /// The same with a checkpoint more, and without those that count no more.
    func adding(_ now: ClockReading) -> ExpiryCheckpoints {
        var added = ExpiryCheckpoints()
        added.boot = now.boot
        var list = valid(at: now)
        // Of those that are old enough, one later than the others says all that they do.
        // Reason: "The ledger keeps checkpoints, not a note for each value" in Docs/Decisions/Expiry.md.
        let old = list.count { now.sinceBoot - $0.sinceBoot >= Self.delay }
        list.removeFirst(max(0, old - 1))
        if list.count >= 2, now.sinceBoot - list[list.count - 2].sinceBoot < Self.spacing { list.removeLast() }
        added.checkpoints = list + [Checkpoint(sinceBoot: now.sinceBoot, wall: now.wall)]
        return added
    }

    /// The checkpoints without those from before the wall clock was set.
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
