/// The result of running a migration policy: the versions before and after it, and the steps.
///
/// ```swift
/// if let problem = plan.plan.fallback { print("The plan failed, and the inferred changes replaced it: \(problem)") }
/// print("\(plan.plan.from ?? "no version") -> \(plan.plan.to ?? "unknown")")
/// ```
public struct PlanReport: Sendable, Codable, Hashable {
    /// A migration step that was run.
    public struct Step: Sendable, Codable, Hashable {
        /// The kind of a step.
        public enum Kind: String, Sendable, Codable {
            /// A step of a chain, from one version to the next.
            case incremental
            /// A step directly to a later version, outside the chain.
            case adHoc
            /// Changes that were inferred from the declared schema.
            case lightweight
        }

        /// The version before the step, as recorded beside the data (stamped); nil if no version was stamped.
        public var from: String?
        /// The version after the step.
        public var to: String
        /// The kind of the step.
        public var kind: Kind
        /// The number of records that the step changed, copied, moved or removed in this run.
        public var records: Int
    }

    /// The stored version before the run. Nil if there was neither a stamp nor data, or if several versions were stored.
    public var from: String?
    /// The stored version after the run; nil if it is unknown.
    public var to: String?
    /// The steps in the order in which they were run.
    public var steps: [Step]
    /// The error of the plan, if changes that were inferred from the declared schema replaced the plan. See
    /// `lightWeightBackup`.
    public var fallback: String?

    /// Creates a report.
    public init(from: String? = nil, to: String? = nil, steps: [Step] = [], fallback: String? = nil) {
        self.from = from
        self.to = to
        self.steps = steps
        self.fallback = fallback
    }
}
