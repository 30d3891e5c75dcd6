// Stored content may be a secret. Printing, dumping or logging a payload, a record or a probe therefore shows the size of the content,
// never the content.

extension StoragePayload: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind and the size of the content, without the content.
    public var description: String {
        switch self {
        case .bytes(let bytes): "bytes(\(bytes.count))"
        case .native(let value): "native(\(value))"
        }
    }

    /// Equals ``description``.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension NativeValue: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type of the value. For text, data and containers, the size follows.
    public var description: String {
        switch self {
        case .string(let text): "string(\(text.utf8.count))"
        case .integer: "integer"
        case .unsigned: "unsigned"
        case .real: "real"
        case .boolean: "boolean"
        case .date: "date"
        case .data(let bytes): "data(\(bytes.count))"
        case .array(let elements): "array(\(elements.count))"
        case .dictionary(let entries): "dictionary(\(entries.count))"
        }
    }

    /// Equals ``description``.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension StorageCorruption: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The reason for the damage and the number of bytes.
    public var description: String { "damaged(\(bytes.count) bytes: \(reason))" }

    /// Equals ``description``.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: ["reason": reason], displayStyle: .struct) }
}

extension StorageRevision: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of bytes. The bytes are left out because some stores derive a revision from the content.
    public var description: String { "revision(\(bytes.count))" }

    /// Equals ``description``.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
