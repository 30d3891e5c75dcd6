/// A query for the values of one namespace that fulfil every condition.
///
/// ```swift
/// let query = StorageQuery(StorageNamespace("notes"), [.typeTag("Note"), .attribute("folder", "home")])
/// print(query.matches(metadata))  // false: the metadata has no type tag
/// ```
public struct StorageQuery: Hashable, Sendable {
    /// A condition on a value's metadata. Texts are compared by their UTF-8 bytes.
    ///
    /// ```swift
    /// let recent = StorageQuery.Condition.modified(since: 1_700_000_000)
    /// print(recent.matches(StorageMetadata(modifiedAt: 1_800_000_000)))  // true
    /// ```
    public enum Condition: Hashable, Sendable {
        /// ``StorageMetadata/typeTag`` equals this text.
        case typeTag(String)
        /// ``StorageMetadata/attributes`` contains the first text as a name, with the second text as its value.
        case attribute(String, String)
        /// ``StorageMetadata/modifiedAt`` is this time or later. A value without a modification time never fulfils the condition.
        case modified(since: Double)
    }

    /// The namespace to search.
    public var namespace: StorageNamespace
    /// The conditions. A value must fulfil all of them; an empty array matches every value.
    public var conditions: [Condition]

    /// Creates a query.
    public init(_ namespace: StorageNamespace, _ conditions: [Condition] = []) {
        self.namespace = namespace
        self.conditions = conditions
    }

    /// Whether a value with this metadata fulfils every condition.
    ///
    /// ```swift
    /// let query = StorageQuery(StorageNamespace("notes"), [.typeTag("Note"), .attribute("folder", "home")])
    /// print(query.matches(metadata))  // false: the metadata has no type tag
    /// ```
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

    /// Whether two conditions are equal. Texts are compared by their UTF-8 bytes.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.typeTag(let left), .typeTag(let right)): areSame(left, right)
        case (.attribute(let left, let one), .attribute(let right, let other)): areSame(left, right) && areSame(one, other)
        case (.modified(let left), .modified(let right)): left.bitPattern == right.bitPattern
        default: false
        }
    }

    /// Hashes the bytes that `==` compares.
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

/// A position in the pages of a query. Pass the cursor of one page to get the next page.
///
/// ```swift
/// do throws(BackendError) {
///     print(try await store.page(query, after: StorageCursor(saved), limit: 50).entries.count)
/// } catch let error where error.code == .unsupported {
///     print("The cursor is of another query. Begin with the first page.")
/// }
/// ```
///
/// A cursor is valid for one store and one query. Its bytes can be stored.
public struct StorageCursor: Hashable, Sendable {
    /// The cursor's bytes. Only the backend that made them can interpret them. They may contain names of slots.
    public let bytes: [UInt8]

    /// Creates a cursor from the bytes a backend chose.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// One page of the result of a query.
///
/// ```swift
/// let page = StoragePage([StoragePage.Entry(address, .record(record))], next: nil)
/// print(page.isComplete)  // true: it is the last page
/// ```
public struct StoragePage: Hashable, Sendable {
    /// A slot that matches the query, or a damaged slot that may match it.
    ///
    /// ```swift
    /// switch entry.content {
    /// case .record(let record): print("\(entry.address): \(record.payload.byteCount) bytes")
    /// case .corrupt(let damage): print("\(entry.address) is damaged: \(damage.reason)")
    /// }
    /// ```
    public struct Entry: Hashable, Sendable {
        /// The content of the slot.
        public enum Content: Hashable, Sendable {
            /// A value that fulfils the query's conditions.
            case record(StorageRecord)
            /// Damaged bytes. The conditions cannot be checked.
            case corrupt(StorageCorruption)
        }

        /// The address of the slot, the location of the value.
        public let address: StorageAddress
        /// The content of the slot.
        public let content: Content

        /// Creates an entry.
        public init(_ address: StorageAddress, _ content: Content) {
            self.address = address
            self.content = content
        }

        /// The value; nil if the slot is damaged.
        public var record: StorageRecord? { if case .record(let record) = content { record } else { nil } }

        /// The damaged bytes; nil if the slot holds a value.
        public var corruption: StorageCorruption? { if case .corrupt(let corruption) = content { corruption } else { nil } }
    }

    /// The matching slots, in the order of the store.
    public let entries: [Entry]
    /// Damaged slots whose names cannot be read and that may match the query. All pages together contain each of them once. Empty unless
    /// the store claims ``BackendCapabilities/sealsNames``.
    public let damaged: [DamagedSlot]
    /// The cursor for the next page; nil on the last page only. A page that is not the last may be empty or shorter than the limit.
    public let next: StorageCursor?

    /// Whether the enumeration is proven to be complete. True on the last page only.
    ///
    /// It may be false on the last page too: if slots were changed during the enumeration, or if the store found damage in its index.
    public let isComplete: Bool

    /// Creates a page.
    /// - Parameters:
    ///   - entries: The matching slots.
    ///   - damaged: The damaged slots without a readable name.
    ///   - next: The cursor for the next page; nil on the last page.
    ///   - isComplete: Whether the enumeration is proven to be complete. Nil means true on the last page and false on any other.
    public init(_ entries: [Entry], damaged: [DamagedSlot] = [], next: StorageCursor?, isComplete: Bool? = nil) {
        self.entries = entries
        self.damaged = damaged
        self.next = next
        self.isComplete = isComplete ?? (next == nil)
    }
}
