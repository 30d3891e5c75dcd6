import BackendContract
import Sealing

/// Creates sealed vaults, one for each keyring service. A vault is an encrypted database that replaces a keyring, for a
/// program without a user session.
package struct SealedVault {
    /// The source of the vault's key.
    let source: KeySourceReference

    /// Creates the vault of a service.
    func make(_ service: String, _ parts: StoreParts) throws -> any StorageBackend {
        #if SQLite
            return try SealedFolder.vaults.makeStore(Self.name(of: service), of: service, try reference(parts.configuration), parts)
        #else
            return MissingBackend(for: .keychain(service: service), KeyringProvider().claims, SQLiteProvider.missing(".keychain"))
        #endif
    }

    /// Returns the source of the vault's key.
    func keySource(_ parts: StoreParts) throws -> any KeySource { try parts.keySource(try reference(parts.configuration)) }

    /// Returns the reference to the source of the vault's key.
    /// - Throws: ``StorageError`` when the source is the keyring, which the vault replaces.
    private func reference(_ configuration: StorageConfiguration) throws -> KeySourceReference {
        let reference = source == .configured ? configuration.keySource : source
        if case .keychain = reference.form {
            throw StorageError(
                StorageError.unavailable, key: "",
                "The key of the vault that replaces the keyring cannot be in the keyring. Give sealedVault a key file, a credential or a passphrase."
            )
        }
        return reference
    }

    /// Returns the name of a service's database. A service may have any name. Bytes that a database's name cannot
    /// contain are escaped as two hexadecimal digits after an underscore.
    static func name(of service: String) -> String {
        var name = ""
        for byte in service.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !name.isEmpty: name += "."
            default: name += "_" + hexadecimalText(of: [byte])
            }
        }
        return "v-" + name
    }

    /// Returns the service that belongs to the name of a database.
    package static func service(of name: String) -> String {
        var (service, rest) = ([UInt8](), name.dropFirst(2).utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "_"), rest.count >= 2, let part = bytes(ofHexadecimal: String(rest.prefix(2)) ?? "") else {
                service.append(byte)
                continue
            }
            service += part
            rest = rest.dropFirst(2)
        }
        return String(decoding: service, as: UTF8.self)
    }
}
