import Foundation
import LocalData

/// The JSON output for a stored value: name, kind, and the content unless only the kind was requested.
struct ShownValue: Encodable {
    let name: String
    /// `null`, `boolean`, `number`, `text`, `date`, `data`, `list` or `object`.
    let kind: String
    /// The content: a date in ISO 8601, data in Base64, and other kinds as plain JSON. Nil if only the kind was requested.
    let value: DocumentValue?

    init(name: String, _ value: DocumentValue, onlyKind: Bool) {
        self.name = name
        kind = value.kind
        self.value = onlyKind ? .none : .some(value.shown)
    }
}

/// The JSON output for a damaged record.
struct ShownDamage: Encodable {
    let handle: String
    let name: String?
    let reason: String
    /// Whether the record is in a locked part of its store. The JSON output has only the reason.
    let isLocked: Bool

    private enum CodingKeys: CodingKey { case handle, name, reason }

    init(_ record: DamagedRecord, _ reason: StorageError) {
        (handle, name, self.reason) = (record.handle, record.name, reason.message)
        isLocked = reason.code == .locked
    }
}

extension DocumentValue {
    /// The kind: `null`, `boolean`, `number`, `text`, `date`, `data`, `list` or `object`.
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "boolean"
        case .integer, .unsigned, .real, .decimal: "number"
        case .string: "text"
        case .date: "date"
        case .data: "data"
        case .array: "list"
        case .object: "object"
        }
    }

    fileprivate var shown: DocumentValue {
        switch self {
        case .date(let date): .string(date.ISO8601Format())
        case .data(let data): .string(data.base64EncodedString())
        default: self
        }
    }
}
