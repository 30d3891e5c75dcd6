extension MigrationReport {
    /// Something that a sweep does durably to one place.
    public struct Step: Sendable, Codable, Hashable {
        /// What is done.
        public enum Action: String, Sendable, Codable {
            /// A value is written.
            case write
            /// A value is removed, and a tombstone keeps older copies from coming back.
            case remove
            /// A slot is deleted.
            case delete
            /// The bytes of an earlier version are kept beside the value.
            case backUp
            /// The bytes of the place are kept in quarantine.
            case quarantine
        }

        /// What is done.
        public var action: Action
        /// Where: the domain and the key; for records, the domain and the collection.
        public var place: String
        /// How often: for a collection, of how many records.
        public var count: Int
    }

    /// What a conflict comes to, for both sides.
    public struct Conflict: Sendable, Codable, Hashable {
        /// What becomes of one side.
        public struct Side: Sendable, Codable, Hashable {
            /// What a place holds in the end.
            public enum Outcome: String, Sendable, Codable {
                /// What it held before.
                case kept
                /// Another value.
                case replaced
                /// No value any more.
                case removed
            }

            /// What the place holds in the end.
            public var outcome: Outcome
            /// Whether what it held is kept in quarantine.
            public var isQuarantined: Bool

            init(_ steps: some Sequence<Step>) {
                let actions = Set(steps.map(\.action))
                outcome = actions.contains(.write) ? .replaced : actions.contains(.remove) || actions.contains(.delete) ? .removed : .kept
                isQuarantined = actions.contains(.quarantine)
            }
        }

        /// The key's own place.
        public var destination: Side
        /// The legacy locations.
        public var sources: Side

        init(_ steps: [Step], at destination: String) {
            self.destination = Side(steps.filter { $0.place == destination })
            sources = Side(steps.filter { $0.place != destination })
        }
    }
}
