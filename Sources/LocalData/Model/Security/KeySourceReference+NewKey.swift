package import BackendRuntime
import Sealing

extension KeySourceReference {
    /// Returns a new sealing key as one line of text. Use it for sources that the program only reads: as the content of
    /// a credential, or of a key file that is created beforehand.
    ///
    /// The line is the key itself. The library does not store it. Data that it seals is lost without it.
    ///
    /// ```swift
    /// print(KeySourceReference.newKeyText())  // store this line as a credential, and keep a copy of it
    /// ```
    public static func newKeyText() -> String { newKeyText(.live) }

    /// Returns a new sealing key as one line of text. Its random bytes come from the runtime, which tests can replace.
    package static func newKeyText(_ runtime: Runtime) -> String { SealingKey.random(runtime.randomBytes).text }
}
