/// The layout of a store's values in the keyring: LocalData's format, or the items of another program.
///
/// Set it in `StorageConfiguration.keychainStyles` for a service whose items another program reads or writes.
///
/// LocalData's format stores one line with a checksum. It contains a value with its metadata and revision (the
/// identifier of its state), or a tombstone (the record of a removal). The interop styles (all other styles) read and
/// write the bare text of another program. They have no metadata and no tombstones, and only the namespace
/// ``StorageNamespace/values``.
///
/// With an interop style, a keyring may lose certain texts. A write of such a text fails with `unsupported`. Such a
/// text is empty, contains a line break, a NUL or a backslash, or begins with a blank. An item without a text is
/// reported as damaged.
///
/// ```swift
/// configuration.keychainStyles["com.example.backup"] = .pythonKeyring
/// let password = StorageKey<String>(name: "nightly", domain: .keychain(service: "com.example.backup"))
/// do {
///     try await StorageRouter(configuration: configuration).set("two\nlines", for: password)
/// } catch StorageError.unsupported {
///     // A keyring may lose a text with a line break in this format. The stored item is unchanged.
/// }
/// ```
public struct KeyringStyle: Hashable, Sendable {
    enum Layout: Hashable, Sendable {
        case localData
        case secretTool(attributes: [String: String], service: String?, name: String)
        case pythonKeyring
        case goKeyring
        case keyringRS(target: String?)
    }

    let layout: Layout

    /// LocalData's format, with all guarantees of a backend.
    public static let localData = KeyringStyle(layout: .localData)

    /// The items of `secret-tool store` and `secret-tool lookup`, with the given attributes and no schema.
    ///
    /// ```swift
    /// // In a shell: secret-tool lookup service com.example.mail account nightly
    /// configuration.keychainStyles["com.example.mail"] = .secretTool()
    /// ```
    /// - Parameters:
    ///   - attributes: The attributes that every item of the store has.
    ///   - service: The attribute that contains the store's service; nil for none.
    ///   - name: The attribute that contains the name of the slot, the location of one value.
    public static func secretTool(
        attributes: [String: String] = [:], service: String? = "service", name: String = "account"
    ) -> KeyringStyle {
        KeyringStyle(layout: .secretTool(attributes: attributes, service: service, name: name))
    }

    /// The items of Python's `keyring`: attributes `service`, `username`, `application='Python keyring library'`.
    public static let pythonKeyring = KeyringStyle(layout: .pythonKeyring)

    /// The items of go-keyring: the attributes `service` and `username`.
    public static let goKeyring = KeyringStyle(layout: .goKeyring)

    /// The items of keyring-rs: the attributes `service`, `username` and, if given, `target`.
    ///
    /// ```swift
    /// configuration.keychainStyles["com.example.vcs"] = .keyringRS(target: "git")
    /// ```
    /// - Parameter target: The entry's target; nil for an entry without one.
    public static func keyringRS(target: String? = nil) -> KeyringStyle { KeyringStyle(layout: .keyringRS(target: target)) }

    /// Whether items contain the bare text of another program instead of a record with a checksum.
    var isInterop: Bool { layout != .localData }
}
