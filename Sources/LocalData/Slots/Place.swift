package import BackendContract

/// The location of a slot, described by names that stay the same when folders move.
///
/// Seals are bound to this location. Origins, the ledger and the quarantine identify slots by it.
package struct Place: Hashable, Sendable, CustomStringConvertible {
    /// The kind of the domain, such as "userDefaults" or "keychain".
    let kind: String
    /// The suite, service or database; empty if the domain has none.
    let scope: String
    /// The name of the namespace; empty for the namespace of values.
    let namespace: String
    /// The name of the slot.
    let name: String

    package init(kind: String, scope: String, _ address: StorageAddress) {
        (self.kind, self.scope, namespace, name) = (kind, scope, address.namespace.name, address.name)
    }

    /// The location as text that identifies it. It contains the four names in order, each as a netstring: its number of bytes in UTF-8, a
    /// colon, the name and a comma. An example is `12:userDefaults,7:secrets,0:,9:api-token,`.
    /// Reason: "Locations are encoded as counted fields" in Docs/Decisions/Sealing.md.
    package var text: String {
        // Each number has at most 20 digits.
        String(unsafeUninitializedCapacity: kind.utf8.count + scope.utf8.count + namespace.utf8.count + name.utf8.count + 88) { buffer in
            var end = 0
            func add(_ number: Int) {
                if number > 9 { add(number / 10) }
                buffer[end] = UInt8(ascii: "0") + UInt8(number % 10)
                end += 1
            }
            for var part in [kind, scope, namespace, name] {
                add(part.utf8.count)
                buffer[end] = UInt8(ascii: ":")
                part.withUTF8 { end = UnsafeMutableBufferPointer(rebasing: buffer[(end + 1)...]).update(fromContentsOf: $0) + end + 1 }
                buffer[end] = UInt8(ascii: ",")
                end += 1
            }
            return end
        }
    }

    /// Creates a location from its ``text``; nil for any other text.
    init?(text: String) {
        var rest = text.utf8[...]
        guard let place = Self.next(&rest), rest.isEmpty else { return nil }
        self = place
    }

    /// Returns the locations whose texts follow one another in a text; nil for any other text.
    static func places(in text: String) -> [Place]? {
        var rest = text.utf8[...]
        var places: [Place] = []
        while !rest.isEmpty {
            guard let place = next(&rest) else { return nil }
            places.append(place)
        }
        return places
    }

    private static func next(_ rest: inout Substring.UTF8View) -> Place? {
        var parts: [String] = []
        while parts.count < 4 {
            guard let colon = rest.firstIndex(of: UInt8(ascii: ":")), let count = Int(String(rest[..<colon]) ?? ""), count >= 0,
                let end = rest.index(rest.index(after: colon), offsetBy: count, limitedBy: rest.endIndex), end < rest.endIndex,
                rest[end] == UInt8(ascii: ","), let part = String(rest[rest.index(after: colon)..<end])
            else { return nil }
            parts.append(part)
            rest = rest[rest.index(after: end)...]
        }
        return Place(kind: parts[0], scope: parts[1], StorageAddress(parts[3], in: StorageNamespace(parts[2])))
    }

    /// The location as reports show it. The name of a record is its collection and its id, separated by a slash.
    var reported: StoragePlace {
        let collection = StorageNamespace(namespace).collectionName
        return StoragePlace(
            StorageDomain(kind: StorageDomain.Kind(kind), scope: scope.isEmpty ? nil : scope), collection.map { "\($0)/\(name)" } ?? name)
    }

    /// The location as text for people. Two locations may have the same description.
    package var description: String { [kind, scope, namespace, name].joined(separator: "/") }
}
