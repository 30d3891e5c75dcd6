// Values of the types below may contain a secret. Printing, dumping or logging them, or a type that contains them,
// therefore never shows the content, but facts such as its type and its size.

extension StoragePayload: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind and the size of the content, without the content.
    public var description: String {
        switch self {
        case .bytes(let bytes): "bytes(\(bytes.count))"
        case .native(let value): "native(\(value))"
        }
    }

    /// Equals ``description``, so that debug output does not contain the content either.
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

    /// Equals ``description``, so that debug output does not contain the content either.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension StorageCorruption: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The reason for the damage and the number of bytes.
    public var description: String { "damaged(\(bytes.count) bytes: \(reason))" }

    /// Equals ``description``, so that debug output does not contain the content either.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: ["reason": reason], displayStyle: .struct) }
}

extension StorageRevision: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of bytes of the revision, the identifier of a state. The bytes are left out, because some stores
    /// derive them from the content.
    public var description: String { "revision(\(bytes.count))" }

    /// Equals ``description``, so that debug output does not contain the content either.
    public var debugDescription: String { description }

    /// A mirror without the content, so that `dump` does not print it.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
