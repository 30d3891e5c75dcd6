/// What a migration policy did.
public struct PlanReport: Sendable, Codable, Hashable {
    /// One step.
    public struct Step: Sendable, Codable, Hashable {
        /// What kind of step.
        public enum Kind: String, Sendable, Codable {
            /// A step of a chain.
            case incremental
            /// A step straight to a later version.
            case adHoc
            /// What was inferred from the declared schema.
            case lightweight
        }

        /// The version that it began at; nil where none was stamped.
        public var from: String?
        /// The version that it led to.
        public var to: String
        /// What kind of step.
        public var kind: Kind
        /// How many records it changed, copied, moved or removed in this run.
        public var records: Int
    }

    /// The version that was stored before; nil where there was neither a stamp nor data, or several versions.
    public var from: String?
    /// The version that is stored now; nil where none is known.
    public var to: String?
    /// The steps that were run, in their order.
    public var steps: [Step]
    /// Why the plan was given up for what can be inferred, if it was: see `lightWeightBackup`.
    public var fallback: String?

    /// Creates a report.
    public init(from: String? = nil, to: String? = nil, steps: [Step] = [], fallback: String? = nil) {
        self.from = from
        self.to = to
        self.steps = steps
        self.fallback = fallback
    }
}
