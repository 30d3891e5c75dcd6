/// The longest times that calls wait for a store that does not respond.
///
/// A deadline includes the time that a call waits in the store's queue, and the time in which its work makes no
/// progress. At the deadline the caller gets `timedOut`, even if the store does not respond. The error's `outcome` says
/// whether a change may have happened. Work that reports progress, such as a change of many values, extends the
/// deadline.
///
/// The changes of one key run one after the other. A call that waits for another call of its key fails with `timedOut`
/// if that call, with its closures, makes no progress for the longer of ``files`` and ``keychain``. Nothing was changed
/// then.
///
/// ```swift
/// configuration.deadlines.keychain = .seconds(2)
/// do {
///     print(try await StorageRouter(configuration: configuration).exists(.apiToken))
/// } catch StorageError.timedOut {
///     // The keyring has not answered for two seconds.
/// }
/// ```
public struct Deadlines: Hashable, Sendable {
    /// The deadline of a call to a file-backed store.
    public var files: Duration
    /// The deadline of a call to the keyring, or to the session's portal for the secret of a sealing key.
    public var keychain: Duration
    /// The deadline for the user's answer to a prompt, in `unlock`.
    public var prompt: Duration

    /// Creates deadlines. The defaults are 10 seconds for files, 10 seconds for the keyring and 120 seconds for a
    /// prompt.
    ///
    /// ```swift
    /// configuration.deadlines = Deadlines(files: .seconds(5), keychain: .seconds(5), prompt: .seconds(60))
    /// ```
    public init(files: Duration = .seconds(10), keychain: Duration = .seconds(10), prompt: Duration = .seconds(120)) {
        (self.files, self.keychain, self.prompt) = (files, keychain, prompt)
    }
}
