/// The protection of a value in addition to that of its domain.
public struct SecurityPolicy: Hashable, Sendable, CustomStringConvertible {
    enum Form: Hashable, Sendable {
        case automatic
        case none
        case encrypted(KeySourceReference)
    }

    let form: Form

    /// The protection of the domain: none in a property list, that of the keyring in a keyring.
    public static let automatic = SecurityPolicy(form: .automatic)

    /// No protection in addition to that of the domain, as an explicit choice.
    public static let none = SecurityPolicy(form: .none)

    /// A second name of ``none``.
    public static let plaintext = SecurityPolicy.none

    /// Encryption before the value reaches the domain, with a key of the configuration's key source.
    public static let encrypted = SecurityPolicy.encrypted()

    /// Encryption before the value reaches the domain. The encryption is bound to the location, so sealed bytes that
    /// are moved to another slot cannot be decrypted. For the format see `Envelope` in `Docs/Formats.md`.
    /// - Parameter source: The source of the key.
    public static func encrypted(_ source: KeySourceReference = .configured) -> SecurityPolicy { SecurityPolicy(form: .encrypted(source)) }

    /// The source of the key; nil if the value is not sealed.
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

/// Identifies the source of a sealing key.
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
    public static let configured = KeySourceReference(form: .configured)

    /// The default item in the session's keyring.
    public static let keychain = KeySourceReference.keychain(service: nil)

    /// An item in the session's keyring.
    /// - Parameters:
    ///   - service: The service; nil for the application id.
    ///   - name: The item's name. A program with several keys needs several names.
    public static func keychain(service: String?, name: String = "LocalData sealing key") -> KeySourceReference {
        KeySourceReference(form: .keychain(service: service, name: name))
    }

    /// A file with the permissions 0600, which is created when the first key is needed.
    /// - Parameter path: An absolute path, or a path in the configuration's data folder.
    public static func keyFile(_ path: String) -> KeySourceReference { KeySourceReference(form: .keyFile(path: path)) }

    /// A credential of the service manager: a file of systemd or Kubernetes in the folder `CREDENTIALS_DIRECTORY`. The
    /// program only reads it. `localdata keys new` prints a key for it.
    /// - Parameter name: The credential's name.
    public static func credential(_ name: String) -> KeySourceReference { KeySourceReference(form: .credential(name: name)) }

    /// A random key that is encrypted with a passphrase. The router gets the passphrase from
    /// ``StorageConfiguration/passphrase``, and derives the encryption key from it with scrypt. The encrypted key is
    /// the file `<name>.passphrase` in the configuration's data folder. The file must be part of the backup.
    /// - Parameter name: The file's name without its extension. ``StorageConfiguration/passphrase`` receives it.
    public static func passphrase(_ name: String = "default") -> KeySourceReference { KeySourceReference(form: .passphrase(name: name)) }

    /// A key that is derived from the secret of the session's portal (`org.freedesktop.portal.Secret`), for an
    /// application in a Flatpak or a Snap. The portal keeps the secret for the application. Its first use may open a
    /// prompt for the password of the keyring.
    /// - Parameter name: Distinguishes several keys of one application. It is stored in plain text beside the sealed
    ///   data, and must not change.
    public static func secretPortal(_ name: String = "default") -> KeySourceReference {
        KeySourceReference(form: .secretPortal(name: name))
    }

    /// A custom source.
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
