extension MigrationReport {
    /// A durable change in one location that a sweep makes. A sweep migrates the values of all keys of a catalog.
    ///
    /// ```swift
    /// for row in report.rows {
    ///     for step in row.steps { print("\(row.key): \(step.action.rawValue) \(step.place), \(step.count) times") }
    /// }
    /// ```
    public struct Step: Sendable, Codable, Hashable {
        /// The kind of change.
        public enum Action: String, Sendable, Codable {
            /// A value is written.
            case write
            /// A value is removed. A record of the removal (a tombstone) prevents older copies from being migrated
            /// again.
            case remove
            /// A slot is deleted.
            case delete
            /// The bytes of an earlier version are stored as a backup beside the value.
            case backUp
            /// The bytes of the location are kept in the quarantine, for a person to review.
            case quarantine
        }

        /// The kind of change.
        public var action: Action
        /// The location: the domain and the key. For records, the domain and the collection.
        public var place: String
        /// How many times the change is made, for example once for each record of a collection.
        public var count: Int
    }

    /// The result of a conflict: the destination and a legacy location, where earlier versions of the program stored
    /// the value, had different values.
    ///
    /// ```swift
    /// for row in report.rows where row.conflict?.destination.isQuarantined == true {
    ///     print("The value of \(row.key) was replaced. The previous value is in the quarantine.")
    /// }
    /// ```
    public struct Conflict: Sendable, Codable, Hashable {
        /// The result for one side of a conflict.
        public struct Side: Sendable, Codable, Hashable {
            /// The content of a location after the conflict.
            public enum Outcome: String, Sendable, Codable {
                /// The previous content.
                case kept
                /// Another value.
                case replaced
                /// No value.
                case removed
            }

            /// The content of the location after the conflict.
            public var outcome: Outcome
            /// Whether the previous content is kept in the quarantine.
            public var isQuarantined: Bool

            init(_ steps: some Sequence<Step>) {
                let actions = Set(steps.map(\.action))
                outcome = actions.contains(.write) ? .replaced : actions.contains(.remove) || actions.contains(.delete) ? .removed : .kept
                isQuarantined = actions.contains(.quarantine)
            }
        }

        /// The result for the destination.
        public var destination: Side
        /// The result for the legacy locations.
        public var sources: Side

        init(_ steps: [Step], at destination: String) {
            self.destination = Side(steps.filter { $0.place == destination })
            sources = Side(steps.filter { $0.place != destination })
        }
    }
}
