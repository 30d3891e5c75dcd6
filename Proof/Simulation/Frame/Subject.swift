/// The part of the library that a simulation tests. The frame supplies rounds, accidents, the judging of orders,
/// shrinking and series.
package protocol Subject: Sendable {
    associatedtype Plan: CampaignPlan
    /// The states of a value that the coverage counts.
    associatedtype Row: Label
    /// A change that a caller may have made.
    associatedtype Deed: CampaignDeed
    associatedtype Kind where Kind == Plan.Kind

    /// The mutants that the subject's campaigns must notice.
    static var mutants: [Mutant] { get }
    /// The kind whose runs notice a mutant soonest; nil if any kind will do.
    static func telling(_ mutant: Mutant) -> Kind?

    /// Whether a kind can reach a row.
    static func isPossible(_ kind: Kind, _ row: Row) -> Bool
    /// Whether a fault can occur with a kind.
    static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool
    /// Whether a fault can occur with a row.
    static func isPossible(_ row: Row, _ fault: Fault) -> Bool

    /// Carries out a run and judges it.
    static func play(_ act: Act<Self>) async throws
}

/// A countable name, for tables and files.
package protocol Label: Hashable, Sendable, Codable, CaseIterable, RawRepresentable where RawValue == String {}

/// The properties of a change that the frame needs.
package protocol CampaignDeed: Sendable {
    static var powerCut: Self { get }
    var isPowerCut: Bool { get }
}

/// A fault, or an influence from outside the program, that the coverage counts.
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
    /// A collection contains an unreadable record beside those of the run.
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
