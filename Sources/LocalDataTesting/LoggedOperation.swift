import BackendContract

/// One logged call of a ``FaultingBackend``: names, but never a value.
public struct LoggedOperation: Hashable, Sendable, CustomStringConvertible {
    /// The kind of call.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A probe of slots.
        case read
        /// A change of slots.
        case apply
        /// A listing of slots.
        case addresses
        /// A durability barrier.
        case synchronize
    }

    /// The operation's number, from 1, counted over all kinds.
    public let number: Int
    /// The kind of call.
    public let kind: Kind
    /// The change of each slot, in the order of the call: "put a", "delete b"; for a read only the names.
    public let slots: [String]
    /// The faults of the call, in their order.
    public let faults: [String]

    /// The operation on one line.
    public var description: String {
        "\(number) \(kind.rawValue)" + (slots.isEmpty ? "" : " " + slots.joined(separator: ", "))
            + (faults.isEmpty ? "" : " (\(faults.joined(separator: ", ")))")
    }
}

extension StorageMutation {
    /// The change and its slot.
    var outline: String {
        switch operation {
        case .put: "put \(address)"
        case .delete: "delete \(address)"
        case .check: "check \(address)"
        case .tombstone: "tombstone \(address)"
        }
    }
}
