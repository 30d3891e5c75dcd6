/// One entry of a list: a value, or a damaged record.
enum ListEntry<Value: Sendable>: Sendable {
    case value(Value)
    case damaged(DamagedRecord, reason: StorageError)
}

extension DamagePolicy {
    /// The value of an entry; nil for a damaged record that does not end the list.
    func value<Value>(of entry: ListEntry<Value>, _ events: EventReport) async throws -> Value? {
        switch (entry, self) {
        case (.value(let value), _): return value
        case (.damaged(_, let reason), .throw): throw reason
        case (.damaged(let record, let reason), .skip):
            events.send(
                .damagedRecordSkipped(reason.code), "A damaged record was left out of a list.",
                ["domain": "\(record.domain)", "code": "\(reason.code.name)"])
            return nil
        case (.damaged(let record, let reason), .report(let report)):
            try await report(record, reason)
            return nil
        }
    }
}
