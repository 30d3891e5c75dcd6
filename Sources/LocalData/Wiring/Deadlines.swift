/// The longest times that calls wait for a store.
///
/// A deadline includes the time that a call waits in the store's queue, and the time in which its work makes no
/// progress. At the deadline the caller gets an error, even if the store does not respond. Work that reports progress,
/// such as a change of many values, extends the deadline.
public struct Deadlines: Hashable, Sendable {
    /// The deadline of a call to a file-backed store.
    public var files: Duration
    /// The deadline of a call to the keyring, or to the session's portal for the secret of a sealing key.
    public var keychain: Duration
    /// The deadline for the user's answer to a prompt, in `unlock`.
    public var prompt: Duration

    /// Creates deadlines. The defaults are 10 seconds for files, 10 seconds for the keyring and 120 seconds for a
    /// prompt.
    public init(files: Duration = .seconds(10), keychain: Duration = .seconds(10), prompt: Duration = .seconds(120)) {
        (self.files, self.keychain, self.prompt) = (files, keychain, prompt)
    }
}
