/// The part of the library that a simulation tests. The frame (this folder) supplies the rest: rounds of programs,
/// accidents, the search for an order of the calls, the shrinking of failures, and series of runs.
package protocol Subject: Sendable {
    associatedtype Plan: CampaignPlan
    /// The states of a value, such as pending or removed. A state is called a row. The coverage counts how often runs
    /// reached each row.
    associatedtype Row: Label
    /// An operation on a value that the call log records.
    associatedtype Deed: CampaignDeed
    associatedtype Kind where Kind == Plan.Kind

    /// The mutants that the subject's campaigns must notice. A mutant switches off one part of the protocol.
    static var mutants: [Mutant] { get }
    /// The kind of run, for example of migration, that notices a mutant soonest; nil if any kind will do.
    static func telling(_ mutant: Mutant) -> Kind?

    /// The runs in which a mutant must be noticed. One of them is enough for a mutant of a part that all runs share.
    static func showings(_ mutant: Mutant) -> [Showing<Kind>]

    /// Whether a value can reach a row in runs of a kind.
    static func isPossible(_ kind: Kind, _ row: Row) -> Bool
    /// Whether a fault can occur in runs of a kind.
    static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool
    /// Whether a value can reach a row after a fault.
    static func isPossible(_ row: Row, _ fault: Fault) -> Bool

    /// Carries out a run, and throws if the run broke a rule.
    static func play(_ act: Act<Self>) async throws
}

extension Subject {
    package static func showings(_ mutant: Mutant) -> [Showing<Kind>] { [Showing(kind: telling(mutant))] }
}

/// A group of runs.
package struct Showing<Kind: Label>: Sendable {
    /// The kind of the runs; nil for any kind.
    package var kind: Kind?
    /// The variant of the runs, as in ``CampaignPlan/variant``; nil for any variant.
    package var variant: String?

    package init(kind: Kind?, variant: String? = nil) { (self.kind, self.variant) = (kind, variant) }
}

/// A name from a fixed list. Printed tables and stored plans contain it.
package protocol Label: Hashable, Sendable, Codable, CaseIterable, RawRepresentable where RawValue == String {}

/// The properties of an operation that the frame needs.
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
    /// A collection contains an unreadable record beside the records that the programs use.
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
