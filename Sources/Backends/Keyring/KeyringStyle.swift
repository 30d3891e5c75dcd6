/// How a store lays its values out in the keyring: in the house format, or as another program's items.
///
/// The house format keeps metadata, revisions and tombstones in one checked line. The interop styles write the bare text that the other
/// program reads, and read what it wrote: they keep no metadata and no tombstones, and know only the namespace ``StorageNamespace/values``. They
/// refuse an empty text, and one with a line break or a NUL (`unsupported`): a keyring may lose it. An item without a text is damage.
public struct KeyringStyle: Hashable, Sendable {
    enum Layout: Hashable, Sendable {
        case localData
        case secretTool(attributes: [String: String], service: String?, name: String)
        case pythonKeyring
        case goKeyring
        case keyringRS(target: String?)
    }

    let layout: Layout

    /// The house format: everything the contract of a backend promises.
    public static let localData = KeyringStyle(layout: .localData)

    /// What `secret-tool store` and `secret-tool lookup` use: the attributes that were given, and no schema.
    /// - Parameters:
    ///   - attributes: The attributes that every item of the store has.
    ///   - service: The attribute that holds the store's service; nil for none.
    ///   - name: The attribute that holds the name of the slot.
    public static func secretTool(
        attributes: [String: String] = [:], service: String? = "service", name: String = "account"
    ) -> KeyringStyle {
        KeyringStyle(layout: .secretTool(attributes: attributes, service: service, name: name))
    }

    /// What Python's `keyring` uses: `service` and `username`, marked `application='Python keyring library'`.
    public static let pythonKeyring = KeyringStyle(layout: .pythonKeyring)

    /// What go-keyring uses: `service` and `username`.
    public static let goKeyring = KeyringStyle(layout: .goKeyring)

    /// What keyring-rs uses: `service`, `username` and, where given, `target`.
    /// - Parameter target: The entry's target; nil for an entry without one.
    public static func keyringRS(target: String? = nil) -> KeyringStyle { KeyringStyle(layout: .keyringRS(target: target)) }

    /// Whether items hold the bare text of another program instead of a checked record.
    var isInterop: Bool { layout != .localData }
}
