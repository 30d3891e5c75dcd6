/// A separate set of names within a store, for the values of one kind.
///
/// One name in two namespaces identifies two slots, the locations of two values. Every store has the namespace
/// ``values``.
///
/// ```swift
/// let records = StorageNamespace("notes")
/// print(StorageAddress("a") == StorageAddress("a", in: records))  // false: two slots
/// ```
public struct StorageNamespace: Hashable, Sendable, CustomStringConvertible {
    /// The namespace's name; empty for ``values``.
    public let name: String

    /// Creates a namespace.
    /// - Parameter name: A short name without control characters; the empty string is ``values``.
    public init(_ name: String) { self.name = name }

    /// The namespace for the values of storage keys.
    public static let values = StorageNamespace("")

    /// Whether two namespaces have the same UTF-8 bytes.
    public static func == (left: Self, right: Self) -> Bool { left.name.hasSameBytes(as: right.name) }

    /// Hashes the UTF-8 bytes, which `==` compares.
    public func hash(into hasher: inout Hasher) { StorageAddress.hashUTF8(of: name, into: &hasher) }

    /// The name of the namespace; "values" if the name is empty.
    public var description: String { name.isEmpty ? "values" : name }
}

/// The address of a slot in a store: a namespace and a name.
///
/// ```swift
/// let address = StorageAddress("city")
/// do { try StorageAddress("").validate() } catch { print(error.reason) }  // "A name must not be empty."
/// ```
///
/// Addresses are compared by their UTF-8 bytes. In contrast to `==` of `String`, canonically equivalent spellings (NFC
/// and NFD) are different addresses.
public struct StorageAddress: Hashable, Sendable, CustomStringConvertible {
    /// The namespace of the slot.
    public let namespace: StorageNamespace
    /// The slot's name.
    public let name: String

    /// The maximum length of a name that every store must accept, in bytes of UTF-8.
    public static let maximumNameLength = 1_024

    /// Creates an address without checking it. ``validate()`` checks the rules of all stores; ``StorageBackend/validate(_:)`` also checks
    /// the rules of one store.
    public init(_ name: String, in namespace: StorageNamespace = .values) {
        self.namespace = namespace
        self.name = name
    }

    /// Throws for names that no store accepts: empty names, names longer than ``maximumNameLength`` bytes, and names with a control
    /// character such as NUL or newline.
    ///
    /// ```swift
    /// let address = StorageAddress("city")
    /// do { try StorageAddress("").validate() } catch { print(error.reason) }  // "A name must not be empty."
    /// ```
    /// - Throws: ``BackendError`` with the code ``BackendError/Code/invalidName``.
    public func validate() throws(BackendError) {
        if name.isEmpty { throw BackendError(.invalidName, "A name must not be empty.") }
        for (text, what) in [(name, "A name"), (namespace.name, "A namespace")] {
            if text.utf8.count > Self.maximumNameLength {
                throw BackendError(
                    .invalidName, "\(what) may have at most \(Self.maximumNameLength) bytes of UTF-8; this one has \(text.utf8.count).")
            }
            if text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) || $0.value & 0xFFFE == 0xFFFE }) {
                throw BackendError(.invalidName, "\(what) must not contain control characters.")
            }
        }
    }

    /// The result for a slot without a row: `absent`, or `unavailable` for an invalid name.
    package var probeOfNothing: StorageProbe {
        do throws(BackendError) { try validate() } catch { return .unavailable(error) }
        return .absent
    }

    /// Whether two addresses have the same UTF-8 bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.namespace == right.namespace && left.name.hasSameBytes(as: right.name)
    }

    /// Hashes the UTF-8 bytes, which `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(namespace)
        Self.hashUTF8(of: name, into: &hasher)
    }

    static func hashUTF8(of text: String, into hasher: inout Hasher) {
        if text.utf8.withContiguousStorageIfAvailable({ hasher.combine(bytes: UnsafeRawBufferPointer($0)) }) == nil {
            for byte in text.utf8 { hasher.combine(byte) }
        }
        hasher.combine(0 as UInt8)
    }

    /// The name, preceded by the namespace if that is not ``StorageNamespace/values``.
    public var description: String { namespace == .values ? name : "\(namespace)/\(name)" }
}

extension String {
    /// Whether two strings have the same UTF-8 bytes. The operator `==` also treats canonically equivalent strings as equal.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer(own).hasSameBytes(as: UnsafeRawBufferPointer($0)) }
        }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether two pieces of memory have the same bytes.
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        let words = count & ~7
        for place in stride(from: 0, to: words, by: 8)
        where loadUnaligned(fromByteOffset: place, as: UInt64.self) != other.loadUnaligned(fromByteOffset: place, as: UInt64.self) {
            return false
        }
        return (words..<count).allSatisfy { self[$0] == other[$0] }
    }
}
