import BackendContract

/// One call of a ``FaultingBackend``, as its log keeps it: names, and never a value.
public struct LoggedOperation: Hashable, Sendable, CustomStringConvertible {
    /// Which call it was.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A look at slots.
        case read
        /// A change of slots.
        case apply
        /// A listing of slots.
        case addresses
        /// A barrier.
        case synchronize
    }

    /// The operation's number, from 1, counted over all kinds.
    public let number: Int
    /// Which call it was.
    public let kind: Kind
    /// What was done to which slot, in the order of the call: "put a", "delete b"; for a reading call the names alone.
    public let slots: [String]
    /// What went wrong with it, in the order of happening.
    public let faults: [String]

    /// The operation on one line.
    public var description: String {
        "\(number) \(kind.rawValue)" + (slots.isEmpty ? "" : " " + slots.joined(separator: ", "))
            + (faults.isEmpty ? "" : " (\(faults.joined(separator: ", ")))")
    }
}

extension StorageMutation {
    /// What is done to which slot.
    var outline: String {
        switch operation {
        case .put: "put \(address)"
        case .delete: "delete \(address)"
        case .tombstone: "tombstone \(address)"
        }
    }
}
