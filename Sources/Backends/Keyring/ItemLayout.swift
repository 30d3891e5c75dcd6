import BackendContract

/// The attributes of keyring items. They depend on the service, a name that all items of a store share, and on the
/// style (``KeyringStyle``), the format of the items. The attributes determine what is written, what is searched for,
/// and which items belong to a slot, the location of one value.
///
/// An item belongs to a slot only if it has the slot's attributes *and no others*, except those that the style
/// ignores and those that a daemon adds (``isAddedByDaemon(_:to:)``). A daemon finds every item that has at least the
/// attributes of the search. An item with further attributes belongs to another program.
struct ItemLayout: Sendable {
    let service: String
    let style: KeyringStyle

    /// The attribute that contains the name of the slot.
    let nameAttribute: String
    /// The attributes that all items of the store have. Every search uses them. In LocalData's format, a search for
    /// slots also uses the namespace.
    private let shared: [String: String]
    /// Attributes that a new item gets, but that no search uses.
    private let extra: [String: String]
    /// The names of further attributes that an item of the slot may have, with any value.
    private let ignored: Set<String>
    /// A further attribute that an item of the slot may have, but only with exactly this value.
    private var optional: [String: String] = [:]

    init(service: String, style: KeyringStyle) {
        self.service = service
        self.style = style
        switch style.layout {
        case .localData:
            nameAttribute = "account"
            shared = ["application": "LocalData", "service": service]
            extra = ["xdg:schema": Self.schema]
            ignored = []
        case .secretTool(let attributes, let serviceAttribute, let name):
            nameAttribute = name
            var all = attributes
            if let serviceAttribute { all[serviceAttribute] = service }
            shared = all
            extra = [:]
            ignored = []
        case .pythonKeyring:
            nameAttribute = "username"
            shared = ["service": service]
            extra = ["application": "Python keyring library"]
            ignored = ["application"]
        case .goKeyring:
            nameAttribute = "username"
            shared = ["service": service]
            extra = [:]
            ignored = ["application"]
        case .keyringRS(let target):
            nameAttribute = "username"
            var all = ["service": service]
            all["target"] = target
            // If a program gives no target, keyring-rs 2.0 to 3.6 writes this one. Later versions then write no target.
            if target == nil { optional = ["target": "default"] }
            shared = all
            extra = [:]
            ignored = ["application"]
        }
    }

    /// The schema name of items in LocalData's format.
    static let schema = "org.localdata.Record"

    /// A text that is the same for two layouts exactly if they find the same items.
    var identity: String {
        let parts = shared.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
            "\(Self.escape($0.key))=\(Self.escape($0.value))"
        }
        return (parts + [Self.escape(nameAttribute)]).joined(separator: ";")
    }

    private static func escape(_ text: String) -> String {
        String(text.unicodeScalars.flatMap { "\\;=".unicodeScalars.contains($0) ? ["\\", $0] : [$0] }.map(Character.init))
    }

    /// Throws for an address that an item in this style cannot have.
    /// - Throws: ``BackendError`` with `invalidName` or `unsupported`.
    func validate(_ address: StorageAddress) throws(BackendError) {
        try address.validate()
        try validateStore()
        if style.isInterop, address.namespace != .values {
            throw BackendError(
                .unsupported, "A keyring style of another program has no namespaces. Use the style .localData for this store.")
        }
    }

    /// Throws if the keyring cannot hold the service or the attributes of the style.
    func validateStore() throws(BackendError) {
        for text in [nameAttribute] + shared.flatMap({ [$0.key, $0.value] }) {
            do throws(BackendError) {
                try StorageAddress(text).validate()
            } catch {
                throw BackendError(.invalidName, "The keyring's service and attributes must be usable names. \(error.reason)")
            }
        }
        if shared[nameAttribute] != nil {
            throw BackendError(.invalidName, "The attribute \(nameAttribute) cannot hold both the name of a slot and a fixed text.")
        }
    }

    /// The attributes with which a search finds all items of the store, in every namespace.
    var search: [String: String] { shared }

    /// Returns the attributes with which a search finds all items of a namespace.
    func search(_ namespace: StorageNamespace) -> [String: String] {
        guard !style.isInterop else { return shared }
        return shared.merging(["namespace": Self.attribute(of: namespace)]) { $1 }
    }

    /// Returns the attributes with which a search finds the items of one slot.
    func search(_ address: StorageAddress) -> [String: String] {
        search(address.namespace).merging([nameAttribute: address.name]) { $1 }
    }

    /// Returns the attributes of a new item for a slot.
    func written(_ address: StorageAddress) -> [String: String] { search(address).merging(extra) { $1 } }

    /// Returns the slot that an item belongs to; nil if it belongs to no slot of this namespace.
    func address(of attributes: [String: String], in namespace: StorageNamespace) -> StorageAddress? {
        guard let name = attributes[nameAttribute] else { return nil }
        let expected = search(namespace)
        for (key, value) in expected {
            guard let found = attributes[key], found.utf8.elementsEqual(value.utf8) else { return nil }
        }
        let isAnothers = attributes.contains { key, value in
            expected[key] == nil && key != nameAttribute && !ignored.contains(key) && optional[key] != value
                && !isAddedByDaemon(key, to: attributes)
        }
        return isAnothers ? nil : StorageAddress(name, in: namespace)
    }

    /// Returns whether a daemon has added an attribute to an item, so that the attribute does not show who made the item.
    ///
    /// The names of such attributes begin with `xdg:` (`xdg:content-type` of oo7), or are those of KeePassXC. If the
    /// item has LocalData's schema, LocalData made it. Then every name with a prefix and a colon counts, because
    /// LocalData writes no further names with a colon.
    private func isAddedByDaemon(_ name: String, to attributes: [String: String]) -> Bool {
        // Reason: "Attributes that a daemon adds are ignored" in Docs/Decisions/Keyring.md.
        if name.hasPrefix("xdg:") { return true }
        if Self.keePassXC.contains(name) { return attributes["Uuid"] != nil && attributes["Path"] != nil }
        guard !style.isInterop, attributes["xdg:schema"] == Self.schema else { return false }
        return name.utf8.dropFirst().contains(UInt8(ascii: ":"))
    }

    /// The attributes that KeePassXC adds to every item, regardless of the program that created it.
    private static let keePassXC: Set = ["Title", "URL", "UserName", "Uuid", "Path", "Notes"]

    /// Returns whether a daemon adds an attribute with which it can be identified as oo7: the type of the secret.
    static func isKeptByOo7(_ attributes: [String: String]) -> Bool { attributes["xdg:content-type"] != nil }

    /// Returns the label of an item, the text that a keyring program shows to the user.
    func label(_ address: StorageAddress) -> String {
        switch style.layout {
        case .localData: "LocalData: \(service)/\(address)"
        case .secretTool: "\(service)/\(address)"
        case .pythonKeyring, .goKeyring: "Password for '\(address)' on '\(service)'"
        case .keyringRS: "\(address)@\(service)"
        }
    }

    /// Returns the value of the attribute `namespace`. It is different for each namespace, and never empty.
    private static func attribute(of namespace: StorageNamespace) -> String {
        namespace == .values ? "values" : "n:\(namespace.name)"
    }
}
