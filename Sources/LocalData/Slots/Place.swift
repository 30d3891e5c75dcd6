package import BackendContract

/// Where a slot is, in terms that stay the same when folders move: what seals are bound to, and what origins, ledger and quarantine name.
package struct Place: Hashable, Sendable, CustomStringConvertible {
    /// The kind of domain: "userDefaults", "keychain", …
    package let kind: String
    /// The suite, service or database.
    package let scope: String
    /// The part of the store; the namespace of values has no name.
    package let namespace: String
    /// The name of the slot.
    package let name: String

    package init(kind: String, scope: String, _ address: StorageAddress) {
        self.init(kind: kind, scope: scope, namespace: address.namespace.name, name: address.name)
    }

    private init(kind: String, scope: String, namespace: String, name: String) {
        (self.kind, self.scope, self.namespace, self.name) = (kind, scope, namespace, name)
    }

    /// The place as text that identifies it: the four names in order, each as its number of bytes in UTF-8, a colon, the name and a comma
    /// (a netstring), for instance `12:userDefaults,7:secrets,0:,9:api-token,`.
    /// Reason: "Locations are encoded as counted fields" in Docs/Decisions/Sealing.md.
    package var text: String {
        [kind, scope, namespace, name].map { "\($0.utf8.count):\($0)," }.joined()
    }

    /// Reads ``text``; nil for anything else.
    package init?(text: String) {
        var rest = text.utf8[...]
        guard let place = Self.next(&rest), rest.isEmpty else { return nil }
        self = place
    }

    /// Reads ``text`` several times in a row; nil for anything else.
    package static func places(in text: String) -> [Place]? {
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
        return Place(kind: parts[0], scope: parts[1], namespace: parts[2], name: parts[3])
    }

    /// The place as reports name it.
    var reported: StoragePlace {
        let collection = StorageNamespace(namespace).collectionName
        return StoragePlace(
            StorageDomain(kind: StorageDomain.Kind(kind), scope: scope.isEmpty ? nil : scope), collection.map { "\($0)/\(name)" } ?? name)
    }

    /// The place in words, for people. Two places may have the same words.
    package var description: String { [kind, scope, namespace, name].joined(separator: "/") }
}
