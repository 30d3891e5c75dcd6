/// How a value is protected, beyond what its domain does by itself.
public struct SecurityPolicy: Hashable, Sendable, CustomStringConvertible {
    enum Form: Hashable, Sendable {
        case automatic
        case none
        case encrypted(KeySourceReference)
    }

    let form: Form

    /// What the domain itself gives: nothing in a property list, the keyring's own in the keyring.
    public static let automatic = SecurityPolicy(form: .automatic)

    /// No protection beyond the domain's, said on purpose.
    public static let none = SecurityPolicy(form: .none)

    /// The same as ``none``.
    public static let plaintext = SecurityPolicy.none

    /// Sealed before it reaches the domain, with the key of the configuration's source.
    public static let encrypted = SecurityPolicy.encrypted()

    /// Sealed before it reaches the domain (see `Envelope` in `Docs/Design.md` for the format), bound to its place.
    /// - Parameter source: Where the key is kept.
    public static func encrypted(_ source: KeySourceReference = .configured) -> SecurityPolicy { SecurityPolicy(form: .encrypted(source)) }

    /// Where the key is kept, for a sealed value; nil for one that is not sealed.
    public var keySource: KeySourceReference? {
        if case .encrypted(let source) = form { source } else { nil }
    }

    /// The policy and where its key is kept, in words.
    public var description: String {
        switch form {
        case .automatic: "automatic"
        case .none: "none"
        case .encrypted(let source): "encrypted(\(source))"
        }
    }
}

/// Names the place where a sealing key is kept.
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

    /// An item in the session's keyring.
    public static let keychain = KeySourceReference.keychain(service: nil)

    /// An item in the session's keyring.
    /// - Parameters:
    ///   - service: The service; nil for the application's.
    ///   - name: The item's name, so that a program can have several keys.
    public static func keychain(service: String?, name: String = "LocalData sealing key") -> KeySourceReference {
        KeySourceReference(form: .keychain(service: service, name: name))
    }

    /// A file with permissions 0600, made when a first key is needed.
    /// - Parameter path: An absolute path, or one within the configuration's data folder.
    public static func keyFile(_ path: String) -> KeySourceReference { KeySourceReference(form: .keyFile(path: path)) }

    /// A credential that the service manager provides: a file of systemd's or Kubernetes' in the folder that `CREDENTIALS_DIRECTORY` names. It is only read;
    /// `localdata key new` prints a key to provide.
    /// - Parameter name: The credential's name.
    public static func credential(_ name: String) -> KeySourceReference { KeySourceReference(form: .credential(name: name)) }

    /// A passphrase, which ``StorageConfiguration/passphrase`` gives when it is needed. The key itself is random and lies, sealed with what scrypt makes of the
    /// passphrase, in the file `<name>.passphrase` of the configuration's data folder: it belongs into the backup.
    /// - Parameter name: The file's name without its extension, and what the passphrase is asked for by.
    public static func passphrase(_ name: String = "default") -> KeySourceReference { KeySourceReference(form: .passphrase(name: name)) }

    /// The secret that the portal of the session gives to an application in a Flatpak or a Snap (`org.freedesktop.portal.Secret`): the key is derived from it. The portal
    /// keeps the secret for the application; its first use may open a prompt for the password of the keyring.
    /// - Parameter name: Distinguishes several keys of one application. It is stored in plain text beside what the key seals, and must not change.
    public static func secretPortal(_ name: String = "default") -> KeySourceReference {
        KeySourceReference(form: .secretPortal(name: name))
    }

    /// A source of the program's own.
    /// - Parameter name: Its name in ``StorageConfiguration/customKeySources``. It stands in plain text beside what the key seals, and has to stay the same.
    public static func custom(_ name: String) -> KeySourceReference { KeySourceReference(form: .custom(name: name)) }

    /// Where the key is kept, in words.
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
