package import BackendRuntime
import Sealing

extension KeySourceReference {
    /// A new sealing key as one line of text, for sources that the program only reads: the content of a credential, or of a key file that is made beforehand.
    ///
    /// The line is the key itself. Nothing keeps it but whoever asked for it, and what it seals is lost without it.
    public static func newKeyText() -> String { newKeyText(.live) }

    /// A new sealing key as one line of text, made with the randomness of a runtime.
    package static func newKeyText(_ runtime: Runtime) -> String { SealingKey.random(runtime.randomBytes).text }
}
