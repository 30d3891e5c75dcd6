/// How long calls may wait. A deadline counts waiting in line, and work that shows no progress; the caller leaves on time even if the store does not answer. A change of many
/// values that goes on is waited for.
public struct Deadlines: Hashable, Sendable {
    /// A call to a file-backed store.
    public var files: Duration
    /// A call to the keyring, or to the portal for a key.
    public var keychain: Duration
    /// A person's answer to a prompt, in `unlock`.
    public var prompt: Duration

    /// Creates deadlines; what is not given has the default: 10 seconds for files, 10 for the keyring, 120 for a prompt.
    public init(files: Duration = .seconds(10), keychain: Duration = .seconds(10), prompt: Duration = .seconds(120)) {
        self.files = files
        self.keychain = keychain
        self.prompt = prompt
    }
}
