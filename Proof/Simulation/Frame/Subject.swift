/// What a simulation is of. The frame supplies the rounds, the accidents, the judging of orders, the shrinking and the series.
package protocol Subject: Sendable {
    associatedtype Plan: CampaignPlan
    /// What a value can be found in, as the coverage counts it.
    associatedtype Row: Label
    /// What a caller can have done.
    associatedtype Deed: CampaignDeed
    associatedtype Kind where Kind == Plan.Kind

    /// The parts of the protocol whose absence it must notice.
    static var mutants: [Mutant] { get }
    /// The kind in which the absence of a part tells soonest; nil where any will do.
    static func telling(_ mutant: Mutant) -> Kind?

    /// Whether a kind can come to a row at all.
    static func isPossible(_ kind: Kind, _ row: Row) -> Bool
    /// Whether a fault can meet a kind.
    static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool
    /// Whether a fault can meet a row.
    static func isPossible(_ row: Row, _ fault: Fault) -> Bool

    /// Carries a run out.
    static func play(_ act: Act<Self>) async throws
}

/// A name of something that is counted, for tables and files.
package protocol Label: Hashable, Sendable, Codable, CaseIterable, RawRepresentable where RawValue == String {}

/// What the frame has to know of what a caller did.
package protocol CampaignDeed: Sendable {
    static var powerCut: Self { get }
    var isPowerCut: Bool { get }
}

/// What goes wrong, or comes from elsewhere.
package enum Fault: String, Label {
    case none, locked, unavailable
    case full = "full disk"
    case failure = "failed call"
    case deadline
    case processEnd = "process ended"
    case powerCut = "power cut"
    case torn = "torn write"
    case cancelled
    case secondProcess = "two processes"
    case olderVersion = "older version"
    case foreign = "other program"
    case sleep = "clock goes on"
    case clockSet = "clock is set"
    /// A record of a collection that cannot be read, beside those of the run.
    case damagedRecord = "damaged record"

    init(_ trouble: StoreConditions.Trouble) {
        self =
            switch trouble {
            case .locked: .locked
            case .unavailable: .unavailable
            case .full: .full
            }
    }
}
