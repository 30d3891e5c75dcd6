// What a store holds may be a secret: printing, dumping or logging a record, an error or a probe shows how much there is, never what.

extension StoragePayload: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind and the size of the content.
    public var description: String {
        switch self {
        case .bytes(let bytes): "bytes(\(bytes.count))"
        case .native(let value): "native(\(value))"
        }
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// No content.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension NativeValue: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind and the size of the value.
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

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// No content.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension StorageCorruption: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What is wrong, and the number of bytes.
    public var description: String { "damaged(\(bytes.count) bytes: \(reason))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// No content.
    public var customMirror: Mirror { Mirror(self, children: ["reason": reason], displayStyle: .struct) }
}

extension StorageRevision: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Nothing of the bytes: where a store has no revisions of its own, they may follow from the content.
    public var description: String { "revision(\(bytes.count))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// No content.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
