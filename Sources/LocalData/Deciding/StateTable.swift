/// Decides what a sweep does with the records in the legacy locations of a key whose destination has a value or a tombstone: the rows of
/// "The state table" in `Docs/Design.md` that begin with these. It reads nothing: the facts were read before.
enum StateTable {
    /// The facts about a record in a legacy location.
    struct Facts: Sendable {
        /// Whether the origin of the destination names the record.
        var match: RecordOrigin.Match
        /// Whether the destination was made from the record, which is a value of another program.
        var isMade = false
        /// Whether another program wrote the record.
        var isForeign = false
        /// Whether the record has an origin. It may be the mirror of a later value then.
        var hasOrigin = false
        /// Whether a ready-made migration reads the location, so that its value can be compared with the value of the destination.
        var isSource = false
        /// Whether the destination has a tombstone.
        var isRemoved = false
    }

    enum Verdict: Equatable, Sendable {
        /// The destination replaced the record, which is deleted.
        /// - Parameter ifUnchanged: Whether the destination must be unchanged since it was read. The record may be a later write otherwise.
        case copy(ifUnchanged: Bool)
        /// The record may be a copy or a later write. It is quarantined and deleted.
        case doubtful
        /// The record is compared with the destination, if a migration reads it.
        case other
    }

    static func verdict(on copy: Facts) -> Verdict {
        switch copy.match {
        case .exact: .copy(ifUnchanged: copy.hasOrigin)
        case .content where copy.isMade: .copy(ifUnchanged: true)
        case .content: copy.isSource && !copy.isRemoved ? .other : .doubtful
        // Another program does not see the removal, and its value has no revision: the value may be older or newer than the removal.
        case .none: copy.isRemoved && copy.isForeign ? .doubtful : .other
        }
    }

    /// The decision about records that a migration reads beside a settled destination.
    enum Decision<Value: Sendable>: Sendable {
        /// They have the value of the destination, and are deleted.
        case delete
        /// They may be copies or later writes, and are quarantined and deleted.
        case setAside
        /// The destination wins the conflict.
        case keep
        /// The value that the migration makes from them wins the conflict.
        case replace(Value)
        /// The closure of the key decides the conflict. It receives the value of the destination and the value made from the records.
        case merge(Value, @Sendable (Value?, Value) throws -> Value?)
        /// The policy needs their value, which cannot be read.
        case fail
    }

    /// - Parameters:
    ///   - isEqual: Whether the value made from the records is that of the destination.
    ///   - isDoubtful: Whether one of the records may be a copy.
    ///   - value: The value that the migration makes from the records; nil if it cannot be read.
    static func decision<Value>(
        isEqual: Bool, isDoubtful: Bool, _ value: Value?, _ policy: ConflictPolicy<Value>
    ) -> Decision<Value> {
        if isEqual { return .delete }
        if isDoubtful { return .setAside }
        return switch (policy, value) {
        case (.destinationWins, _): .keep
        case (.sourceWins, let value?): .replace(value)
        case (.merge(let merge), let value?): .merge(value, merge)
        case (_, nil): .fail
        }
    }
}
