import BackendContract

/// A record that cannot be read: where it is, and in which state. A record that was changed since is another one, and is left alone.
public struct DamagedRecord: Hashable, Sendable, CustomStringConvertible {
    /// How its store finds it.
    enum Place: Hashable, Sendable {
        case named(StorageAddress, StorageRevision)
        /// Its name is lost with it.
        case nameless(DamageHandle)
    }

    /// The domain that it is in.
    public let domain: StorageDomain
    let place: Place

    init(_ domain: StorageDomain, _ place: Place) {
        self.domain = domain
        self.place = place
    }

    /// The name of its key, or its id in its collection; nil if the name is lost: a store that keeps names sealed cannot tell the name of a row that it cannot open.
    public var name: String? { if case .named(let address, _) = place { address.name } else { nil } }

    /// A text that names it to another program, such as the tool `localdata`: hexadecimal digits. It contains the name, and nothing of the content.
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

    /// What a ``handle`` names in a domain; nil if the text is no handle.
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

    /// The name, if it is known, and the domain.
    public var description: String { "\(name ?? "a record without a name") in \(domain)" }
}
