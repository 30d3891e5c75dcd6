/// Says whether LocalData encrypts a value before it reaches its store.
///
/// Use ``encrypted`` for a secret in a store that does not encrypt, such as the user defaults on a server without a
/// keyring. The keyring and encrypted databases protect their values without it.
///
/// ```swift
/// let token = StorageKey<String>(name: "token", domain: .userDefaults, security: .encrypted)
/// do {
///     signIn(with: try await storage.get(token))
/// } catch StorageError.encryptionKeyMissing {
///     // The key that sealed the token is gone. The sealed bytes are unchanged: restore the key.
/// }
/// ```
public struct SecurityPolicy: Hashable, Sendable, CustomStringConvertible {
    package enum Form: Hashable, Sendable {
        case automatic
        case none
        case encrypted(KeySourceReference)
    }

    let form: Form

    /// The protection of the domain: none in a property list, that of the keyring in a keyring.
    ///
    /// ```swift
    /// let setting = StorageKey<Int>(name: "width", domain: .userDefaults, security: .automatic)  // not encrypted
    /// let secret = StorageKey<String>(name: "token", domain: .keychain, security: .automatic)  // encrypted by the keyring
    /// ```
    public static let automatic = SecurityPolicy(form: .automatic)

    /// No protection in addition to that of the domain, as an explicit choice. It behaves like ``automatic``, and shows
    /// a reviewer that the value is public.
    ///
    /// ```swift
    /// let publicKey = StorageKey<Data>(name: "public-key", domain: .userDefaults, security: .none)
    /// ```
    public static let none = SecurityPolicy(form: .none)

    /// A second name of ``none``.
    public static let plaintext = SecurityPolicy.none

    /// Encryption before the value reaches the domain, with a key of ``StorageConfiguration/keySource``.
    ///
    /// ```swift
    /// let pin = StorageKey<String>(name: "pin", domain: .userDefaults, security: .encrypted)
    /// ```
    public static let encrypted = SecurityPolicy.encrypted()

    /// Encryption before the value reaches the domain. The encryption is bound to the location, so sealed bytes that
    /// are moved to another slot cannot be decrypted. For the format see `Envelope` in `Docs/Formats.md`.
    ///
    /// ```swift
    /// let card = StorageKey<String>(name: "card", domain: .userDefaults, security: .encrypted(.passphrase("payments")))
    /// do {
    ///     try await storage.set("4000 1234", for: card)
    /// } catch StorageError.encryptionKeyMismatch {
    ///     // The passphrase is not the right one. The stored value is unchanged.
    /// }
    /// ```
    /// - Parameter source: The source of the key.
    public static func encrypted(_ source: KeySourceReference = .configured) -> SecurityPolicy { SecurityPolicy(form: .encrypted(source)) }

    /// The source of the key; nil if the value is not sealed.
    ///
    /// ```swift
    /// print(card.security.keySource?.description ?? "not encrypted by LocalData")  // passphrase payments
    /// ```
    public var keySource: KeySourceReference? {
        if case .encrypted(let source) = form { source } else { nil }
    }

    /// The policy and the source of its key, in words.
    public var description: String {
        switch form {
        case .automatic: "automatic"
        case .none: "none"
        case .encrypted(let source): "encrypted(\(source))"
        }
    }
}

/// Names the location of the key that encrypts databases and sealed values.
///
/// | the program is | use |
/// |---|---|
/// | a desktop program | ``keychain`` |
/// | a service of systemd or Kubernetes | ``credential(_:)`` |
/// | a service without a service manager | ``keyFile(_:)``, on another disk than the data |
/// | a program whose user types a passphrase | ``passphrase(_:)`` |
/// | in a Flatpak or a Snap | ``secretPortal(_:)`` |
/// | connected to a key service or a security module | ``custom(_:)`` |
///
/// Set it in ``StorageConfiguration/keySource``. Without the key, the data that it sealed cannot be read: keep a copy
/// of the key.
///
/// ```swift
/// configuration.keySource = .credential("notes-key")  // for all sealed values and databases
/// configuration.databaseKeySources["cache"] = .keyFile("cache-key")  // except for this database
/// ```
public struct KeySourceReference: Hashable, Sendable, CustomStringConvertible {
    package enum Form: Hashable, Sendable {
        case configured
        case keychain(service: String?, name: String)
        case keyFile(path: String)
        case credential(name: String)
        case passphrase(name: String)
        case secretPortal(name: String)
        case custom(name: String)
    }

    package let form: Form

    /// The source that the configuration names.
    ///
    /// ```swift
    /// let token = StorageKey<String>(name: "token", domain: .userDefaults, security: .encrypted(.configured))
    /// ```
    public static let configured = KeySourceReference(form: .configured)

    /// The default item in the session's keyring.
    ///
    /// ```swift
    /// configuration.keySource = .keychain  // a desktop program: the keyring opens with the user's session
    /// ```
    public static let keychain = KeySourceReference.keychain(service: nil)

    /// An item in the session's keyring.
    ///
    /// ```swift
    /// configuration.databaseKeySources["payments"] = .keychain(service: nil, name: "Payments key")
    /// ```
    /// - Parameters:
    ///   - service: The service; nil for the application id.
    ///   - name: The item's name. A program with several keys needs several names.
    public static func keychain(service: String?, name: String = "LocalData sealing key") -> KeySourceReference {
        KeySourceReference(form: .keychain(service: service, name: name))
    }

    /// A file with the permissions 0600, which is created when the first key is needed.
    ///
    /// ```swift
    /// configuration.keySource = .keyFile("/etc/notes/sealing-key")  // a service: the key is on another disk than the data
    /// ```
    /// - Parameter path: An absolute path, or a path in the configuration's data folder.
    public static func keyFile(_ path: String) -> KeySourceReference { KeySourceReference(form: .keyFile(path: path)) }

    /// A credential of the service manager: a file of systemd or Kubernetes in the folder `CREDENTIALS_DIRECTORY`. The
    /// program only reads it. `localdata keys new` prints a key for it.
    ///
    /// ```swift
    /// configuration.keySource = .credential("notes-key")  // LoadCredentialEncrypted=notes-key in the unit file
    /// ```
    /// - Parameter name: The credential's name.
    public static func credential(_ name: String) -> KeySourceReference { KeySourceReference(form: .credential(name: name)) }

    /// A random key that is encrypted with a passphrase. The router gets the passphrase from
    /// ``StorageConfiguration/passphrase``, and derives the encryption key from it with scrypt. The encrypted key is
    /// the file `<name>.passphrase` in the configuration's data folder. The file must be part of the backup.
    ///
    /// ```swift
    /// configuration.keySource = .passphrase()
    /// configuration.passphrase = { name in await askForPassphrase(name) }  // nil refuses: the call throws `locked`
    /// ```
    /// - Parameter name: The file's name without its extension. ``StorageConfiguration/passphrase`` receives it.
    public static func passphrase(_ name: String = "default") -> KeySourceReference { KeySourceReference(form: .passphrase(name: name)) }

    /// A key that is derived from the secret of the session's portal (`org.freedesktop.portal.Secret`), for an
    /// application in a Flatpak or a Snap. The portal keeps the secret for the application. Its first use may open a
    /// prompt for the password of the keyring.
    ///
    /// ```swift
    /// configuration.keySource = .secretPortal()  // a Flatpak or a Snap
    /// ```
    /// - Parameter name: Distinguishes several keys of one application. It is stored in plain text beside the sealed
    ///   data, and must not change.
    public static func secretPortal(_ name: String = "default") -> KeySourceReference {
        KeySourceReference(form: .secretPortal(name: name))
    }

    /// A custom source.
    ///
    /// ```swift
    /// configuration.keySource = .custom("hsm")
    /// configuration.customKeySources["hsm"] = ModuleKey(module: SecurityModule())
    /// ```
    /// - Parameter name: Its name in ``StorageConfiguration/customKeySources``. It is stored in plain text beside the
    ///   sealed data, and must not change.
    public static func custom(_ name: String) -> KeySourceReference { KeySourceReference(form: .custom(name: name)) }

    /// The source in words.
    public var description: String {
        switch form {
        case .configured: "configured source"
        case .keychain(let service, let name): "keyring item \(name)" + (service.map { " of \($0)" } ?? "")
        case .keyFile(let path): "key file \(path)"
        case .credential(let name): "credential \(name)"
        case .passphrase(let name): "passphrase \(name)"
        case .secretPortal(let name): "portal key \(name)"
        case .custom(let name): "custom key source \(name)"
        }
    }
}
