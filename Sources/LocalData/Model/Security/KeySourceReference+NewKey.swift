public import BackendRuntime
import Sealing

extension KeySourceReference {
    /// A new sealing key as one line of text, for sources that the program only reads: the content of a credential, or of a key file that is made beforehand.
    ///
    /// The line is the key itself. Nothing keeps it but whoever asked for it, and what it seals is lost without it.
    /// - Parameter runtime: Where the randomness comes from.
    public static func newKeyText(_ runtime: Runtime = .live) -> String { SealingKey.random(runtime.randomBytes).text }
}
