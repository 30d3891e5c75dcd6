/// Diagnostic information about a keyring: the program that stores the secrets, and the encryption in transit.
///
/// It also names the default collection, a set of secrets with one password. It contains no part of any value.
///
/// ```swift
/// if description.algorithm == "plain" { print("Secrets go over the session bus without encryption.") }
/// for name in description.valuesAtRisk { print("Copy \(name) elsewhere, and remove it from the keyring.") }
/// ```
public struct KeyringDescription: Hashable, Sendable {
    /// The name of the program that stores the secrets: `gnome-keyring-daemon`, `oo7-daemon`, `kwalletd5`, `keepassxc`. Nil if the program
    /// cannot be identified.
    public var provider: String?
    /// The D-Bus object path of the default collection; nil if there is none.
    public var collection: String?
    /// The algorithm that encrypts secrets on the session bus, by its name in the Secret Service specification. `plain` means unencrypted.
    public var algorithm: String
    /// The names of values that gnome-keyring will alter at its next start. Another program wrote such a value into a
    /// collection without a password. The value contains a backslash or a line break, or begins with a blank.
    ///
    /// Copy these values elsewhere and remove them from the collection. Otherwise the whole collection can become unreadable.
    public var valuesAtRisk: [String] = []

    package init(provider: String?, collection: String?, algorithm: String) {
        (self.provider, self.collection, self.algorithm) = (provider, collection, algorithm)
    }
}

extension KeyringDescription: CustomStringConvertible {
    /// The description as one sentence.
    public var description: String {
        "kept by \(provider ?? "an unknown program") in \(collection ?? "no collection"), sent with \(algorithm)"
            + (valuesAtRisk.isEmpty ? "" : "; at risk at its next start: \(valuesAtRisk.joined(separator: ", "))")
    }
}

/// A store that keeps its values in a keyring of another program.
package protocol DescribableKeyring: StorageBackend {
    /// Describes the keyring. Never opens a prompt.
    /// - Throws: ``BackendError`` when the keyring cannot be reached.
    func describeKeyring() async throws(BackendError) -> KeyringDescription

    /// Returns the program that keeps the secrets now, and its default collection, as one text. Never opens a prompt.
    /// - Throws: ``BackendError`` when the keyring cannot be reached.
    func keeper() async throws(BackendError) -> String
}
