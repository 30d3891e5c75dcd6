import BackendContract

extension StorageProbe {
    /// The state of the slot: `value`, `tombstone`, `absent`, `locked`, `corrupt`, or `unavailable` and the code of the error.
    var state: String {
        switch self {
        case .value: "value"
        case .tombstone: "tombstone"
        case .absent: "absent"
        case .locked: "locked"
        case .unavailable(let error): "unavailable \(error.code)"
        case .corrupt: "corrupt"
        }
    }

    /// The bytes of the value as text, `native` for a native value, or the state of a slot without a value.
    var text: String {
        switch record?.payload {
        case .bytes(let bytes)?: String(decoding: bytes, as: UTF8.self)
        case .native?: "native"
        case nil: state
        }
    }
}

extension MutationResult {
    /// The result: `applied`, `conflict`, `notAttempted`, `locked`, or `failed` and the error.
    var text: String {
        switch self {
        case .applied: "applied"
        case .conflict: "conflict"
        case .notAttempted: "notAttempted"
        case .locked: "locked"
        case .failed(let error): "failed \(error.text)"
        }
    }
}

extension BackendError {
    /// The code and the outcome, as in `noSpace notApplied`.
    var text: String { "\(code) \(outcome.rawValue)" }
}

/// Increments the number in a slot repeatedly. Each write requires that the slot is unchanged since it was read.
/// - Parameters:
///   - rounds: The number of writes that must succeed.
///   - payload: Encodes a number.
/// - Returns: The number of successful writes and of conflicts, as in `won=3 lost=1`.
///   Any other result ends the loop early, and is printed after these numbers.
func countUp(
    _ address: StorageAddress, in store: some StorageBackend, rounds: Int, as payload: (Int) -> StoragePayload
) async -> String {
    var (won, lost) = (0, 0)
    while won < rounds {
        do throws(BackendError) {
            let current = try await store.read(address)
            guard let number = current == .absent ? 0 : current.number else { return "won=\(won) lost=\(lost) \(current.state)" }
            let condition = current.revision.map(StorageMutation.Precondition.revision) ?? .absent
            switch try await store.apply(.put(payload(number + 1), at: address, if: condition)) {
            case .applied: won += 1
            case .conflict: lost += 1
            case let other: return "won=\(won) lost=\(lost) \(other.text)"
            }
        } catch {
            return "won=\(won) lost=\(lost) threw \(error.text)"
        }
    }
    return "won=\(won) lost=\(lost)"
}

extension StorageProbe {
    /// The number in the slot, stored as text or as a native integer.
    fileprivate var number: Int? {
        if case .native(.integer(let number))? = record?.payload { Int(number) } else { Int(text) }
    }
}
