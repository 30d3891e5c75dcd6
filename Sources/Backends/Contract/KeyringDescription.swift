/// Where a keyring's secrets are kept and how they get there, as far as it is known: for people who look for a fault. No part of any value.
public struct KeyringDescription: Hashable, Sendable {
    /// The name of the program that keeps the secrets: `gnome-keyring-daemon`, `kwalletd5`, `keepassxc`. Nil where the machine does not tell.
    public var provider: String?
    /// The object path of the default collection; nil where there is none.
    public var collection: String?
    /// How secrets are encrypted on their way over the session bus, by the name in the Secret Service specification; `plain` for not at all.
    public var algorithm: String
    /// The names of values of another program that gnome-keyring changes at its next start. They contain backslashes or line breaks, or begin with a blank, in a collection without a
    /// password. Copy them elsewhere and remove them there: the whole collection can become unreadable.
    public var valuesAtRisk: [String] = []

    package init(provider: String?, collection: String?, algorithm: String) {
        (self.provider, self.collection, self.algorithm) = (provider, collection, algorithm)
    }
}

extension KeyringDescription: CustomStringConvertible {
    /// The parts in words.
    public var description: String {
        "kept by \(provider ?? "an unknown program") in \(collection ?? "no collection"), sent with \(algorithm)"
            + (valuesAtRisk.isEmpty ? "" : "; at risk at its next start: \(valuesAtRisk.joined(separator: ", "))")
    }
}

/// A store whose values another program keeps.
package protocol DescribableKeyring: StorageBackend {
    /// Who keeps the values, where, and how they get there. Never opens a prompt.
    /// - Throws: ``BackendError`` when the keyring cannot be reached.
    func describeKeyring() async throws(BackendError) -> KeyringDescription
}
