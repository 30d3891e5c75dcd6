/// A named part of a store: the values of one kind, kept apart from those of every other kind.
///
/// Every store has the namespace ``values``. Names of two namespaces never meet.
public struct StorageNamespace: Hashable, Sendable, CustomStringConvertible {
    /// The namespace's name; empty for ``values``.
    public let name: String

    /// Creates a namespace.
    /// - Parameter name: A short name without control characters; the empty string is ``values``.
    public init(_ name: String) { self.name = name }

    /// The namespace that holds what storage keys name.
    public static let values = StorageNamespace("")

    /// Whether two namespaces have the same bytes.
    public static func == (left: Self, right: Self) -> Bool { left.name.hasSameBytes(as: right.name) }

    /// Feeds the parts that equality compares into a hasher.
    public func hash(into hasher: inout Hasher) { StorageAddress.hashUTF8(of: name, into: &hasher) }

    /// The namespace's name; "values" for the one without a name.
    public var description: String { name.isEmpty ? "values" : name }
}

/// The name of one slot in a store.
///
/// Two addresses are equal when their names are the same bytes in UTF-8: unlike `String`, canonically equivalent
/// spellings (NFC and NFD) are two addresses.
public struct StorageAddress: Hashable, Sendable, CustomStringConvertible {
    /// The part of the store that the slot belongs to.
    public let namespace: StorageNamespace
    /// The slot's name.
    public let name: String

    /// The longest name that a store has to accept, in bytes of UTF-8.
    public static let maximumNameLength = 1_024

    /// Creates an address; whether a store can keep it is the store's to say (``validate()``).
    public init(_ name: String, in namespace: StorageNamespace = .values) {
        self.namespace = namespace
        self.name = name
    }

    /// Refuses the names that no store accepts: empty ones, ones longer than ``maximumNameLength`` bytes, and ones
    /// that hold a control character (NUL and newline among them).
    /// - Throws: ``BackendError`` with the code ``BackendError/Code/invalidName``.
    public func validate() throws(BackendError) {
        if name.isEmpty { throw BackendError(.invalidName, "A name must not be empty.") }
        for (text, what) in [(name, "A name"), (namespace.name, "A namespace")] {
            if text.utf8.count > Self.maximumNameLength {
                throw BackendError(
                    .invalidName, "\(what) may have at most \(Self.maximumNameLength) bytes of UTF-8; this one has \(text.utf8.count).")
            }
            if text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) || $0.value & 0xFFFE == 0xFFFE }) {
                throw BackendError(.invalidName, "\(what) must not hold control characters.")
            }
        }
    }

    /// Whether two addresses have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.namespace == right.namespace && left.name.hasSameBytes(as: right.name)
    }

    /// Feeds the parts that equality compares into a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(namespace)
        Self.hashUTF8(of: name, into: &hasher)
    }

    static func hashUTF8(of text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0 as UInt8)
    }

    /// The name; outside the namespace of values, the namespace before it.
    public var description: String { namespace == .values ? name : "\(namespace)/\(name)" }
}

extension String {
    /// Whether two texts are spelled alike, byte for byte: Swift itself takes two spellings of one text for equal.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { own.count == $0.count && own.elementsEqual($0) }
        }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }
}
