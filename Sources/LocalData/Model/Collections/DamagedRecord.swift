import BackendContract

/// Identifies a record that cannot be read, so that a program can export it, set it aside or remove it.
///
/// A list with the policy ``DamagePolicy/report(_:)`` provides these values. A value identifies a record by its
/// location and its state. If the record changes afterwards, the value no longer matches it. Functions that salvage
/// records leave the changed record alone.
///
/// ```swift
/// for try await note in storage.records(
///     in: notes,
///     onDamage: .report { record, reason in
///         print(record.name ?? "a record without a name", record.handle, reason.code)
///     })
/// { show(note.title) }
/// ```
public struct DamagedRecord: Hashable, Sendable, CustomStringConvertible {
    /// Identifies the record in its store.
    enum Place: Hashable, Sendable {
        case named(StorageAddress, StorageRevision)
        /// A record whose name is lost.
        case nameless(DamageHandle)
    }

    /// The domain that contains the record.
    public let domain: StorageDomain
    let place: Place

    init(_ domain: StorageDomain, _ place: Place) {
        self.domain = domain
        self.place = place
    }

    /// The name of the key, or the id in the collection; nil if the name is lost. A store that encrypts names cannot
    /// read the name of a row that it cannot decrypt.
    public var name: String? { if case .named(let address, _) = place { address.name } else { nil } }

    /// A text that identifies the record for another program, such as the tool `localdata`. It consists of hexadecimal
    /// digits. It contains the record's name, but nothing of its content.
    public var handle: String {
        var writer = ByteWriter()
        switch place {
        case .named(let address, let revision):
            writer.byte(0)
            for part in [Array(address.namespace.name.utf8), Array(address.name.utf8), revision.bytes] { writer.counted(part) }
        case .nameless(let handle):
            writer.byte(1)
            writer.counted(handle.bytes)
        }
        return hexadecimalText(of: writer.bytes)
    }

    /// Creates a value from a ``handle`` of a record in a domain; nil if the text is not a handle.
    ///
    /// ```swift
    /// guard let record = DamagedRecord(handle: handle, in: editor.domain) else {
    ///     print("\(handle) is not a handle of a damaged record.")
    ///     return
    /// }
    /// print(record)
    /// ```
    public init?(handle: String, in domain: StorageDomain) {
        guard let bytes = bytes(ofHexadecimal: handle) else { return nil }
        do throws(RecordDamage) {
            var reader = ByteReader(bytes[...])
            switch try reader.byte() {
            case 0:
                let (namespace, name) = (try reader.text(), try reader.text())
                place = .named(StorageAddress(name, in: StorageNamespace(namespace)), StorageRevision(try reader.counted()))
            case 1: place = .nameless(DamageHandle(try reader.counted()))
            default: return nil
            }
            guard reader.isAtEnd else { return nil }
        } catch { return nil }
        self.domain = domain
    }

    /// The name of the record, or a note that its name is lost, and the domain.
    public var description: String { "\(name ?? "a record without a name") in \(domain)" }
}
