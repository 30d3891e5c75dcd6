import BackendContract

/// One logged call of a ``FaultingBackend``. The log contains the names of slots (locations of records), but never
/// their values.
///
/// ```swift
/// for operation in faulty.log where !operation.faults.isEmpty { print(operation) }  // "2 apply put b (loseAnswer)"
/// ```
public struct LoggedOperation: Hashable, Sendable, CustomStringConvertible {
    /// The kind of call.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Slots, a page or a damaged record were read, or records were counted.
        case read
        /// Slots were changed, or a damaged record was deleted.
        case apply
        /// Slots were listed.
        case addresses
        /// The caller requested that changes become durable.
        case synchronize
    }

    /// The number of the operation among all kinds, starting at 1.
    public let number: Int
    /// The kind of call.
    public let kind: Kind
    /// One text for each slot, in the order of the call: for a change "put a" or "delete b", for a read only the name.
    public let slots: [String]
    /// The names of the faults that hit the call, in the order in which they were injected.
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
