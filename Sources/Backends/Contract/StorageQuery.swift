/// A query for the values of one namespace that fulfil every condition.
public struct StorageQuery: Hashable, Sendable {
    /// A condition on a value's metadata. Texts are compared by their bytes in UTF-8.
    public enum Condition: Hashable, Sendable {
        /// ``StorageMetadata/typeTag`` is this text.
        case typeTag(String)
        /// ``StorageMetadata/attributes`` has this value under this name.
        case attribute(String, String)
        /// ``StorageMetadata/modifiedAt`` is this moment or a later one; a value without such a moment never fulfils it.
        case modified(since: Double)
    }

    /// The namespace.
    public var namespace: StorageNamespace
    /// The conditions, all of which a value must fulfil; empty for every value.
    public var conditions: [Condition]

    /// Creates a query.
    public init(_ namespace: StorageNamespace, _ conditions: [Condition] = []) {
        self.namespace = namespace
        self.conditions = conditions
    }

    /// Whether a value with this metadata fulfils every condition.
    public func matches(_ metadata: StorageMetadata) -> Bool { conditions.allSatisfy { $0.matches(metadata) } }
}

extension StorageQuery.Condition {
    /// Whether a value with this metadata fulfils the condition.
    public func matches(_ metadata: StorageMetadata) -> Bool {
        switch self {
        case .typeTag(let tag): metadata.typeTag.map { Self.areSame($0, tag) } ?? false
        case .attribute(let name, let value):
            metadata.attributes.index(forKey: name).map { place in
                Self.areSame(metadata.attributes[place].key, name) && Self.areSame(metadata.attributes[place].value, value)
            } ?? false
        case .modified(let since): metadata.modifiedAt.map { $0 >= since } ?? false
        }
    }

    /// Whether two conditions have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.typeTag(let left), .typeTag(let right)): areSame(left, right)
        case (.attribute(let left, let one), .attribute(let right, let other)): areSame(left, right) && areSame(one, other)
        case (.modified(let left), .modified(let right)): left.bitPattern == right.bitPattern
        default: false
        }
    }

    /// Feeds the parts that equality compares into a hasher.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .typeTag(let tag): StorageAddress.hashUTF8(of: tag, into: &hasher)
        case .attribute(let name, let value):
            StorageAddress.hashUTF8(of: name, into: &hasher)
            StorageAddress.hashUTF8(of: value, into: &hasher)
        case .modified(let since): hasher.combine(since.bitPattern)
        }
    }

    private static func areSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}

/// The position of an enumeration: returned with a page and passed in to get the next one. It belongs to one store and one query. Its bytes can be stored.
public struct StorageCursor: Hashable, Sendable {
    /// The cursor's bytes. Only the backend that made them can interpret them. They may contain names of slots.
    public let bytes: [UInt8]

    /// Creates a cursor from the bytes a backend chose.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// A part of the answer to a query.
public struct StoragePage: Hashable, Sendable {
    /// A slot that answers the query.
    public struct Entry: Hashable, Sendable {
        /// The content of the slot.
        public enum Content: Hashable, Sendable {
            /// A value that fulfils the query's conditions.
            case record(StorageRecord)
            /// Bytes that are not a record, so that the conditions cannot be checked.
            case corrupt(StorageCorruption)
        }

        /// The slot.
        public let address: StorageAddress
        /// The content of the slot.
        public let content: Content

        /// Creates an entry.
        public init(_ address: StorageAddress, _ content: Content) {
            self.address = address
            self.content = content
        }

        /// The value; nil where the bytes are not a record.
        public var record: StorageRecord? { if case .record(let record) = content { record } else { nil } }

        /// The damage; nil if the bytes are a record.
        public var corruption: StorageCorruption? { if case .corrupt(let corruption) = content { corruption } else { nil } }
    }

    /// The slots, in the order of the store.
    public let entries: [Entry]
    /// Damaged slots whose names cannot be read and that may answer the query. Over all pages each is returned once. Empty unless the store claims
    /// ``BackendCapabilities/sealsNames``.
    public let damaged: [DamagedSlot]
    /// Where the next page begins; nil at the end, and only there: a page may be shorter than its limit, or empty, and not be the last.
    public let next: StorageCursor?

    /// Whether this page ends an enumeration that is proven to have left nothing out. False on every page but the last, and there where slots
    /// were changed while the pages were read, or where the store has met damage in what it finds them by.
    public let isComplete: Bool

    /// Creates a page.
    /// - Parameters:
    ///   - entries: The slots.
    ///   - damaged: The damaged slots without a name.
    ///   - next: Where the next page begins; nil at the end.
    ///   - isComplete: Whether the enumeration is proven to have left nothing out; nil: if this is the last page.
    public init(_ entries: [Entry], damaged: [DamagedSlot] = [], next: StorageCursor?, isComplete: Bool? = nil) {
        self.entries = entries
        self.damaged = damaged
        self.next = next
        self.isComplete = isComplete ?? (next == nil)
    }
}
