package import BackendContract
import Synchronization

/// A key source for rehearsals, which record changes in memory instead of writing them. It reads another source, and
/// keeps a first key in memory instead of storing it in that source.
package final class RehearsedKeySource: KeySource {
    private let base: any KeySource
    private let keys: SealingKeys
    private let made = Mutex<SourceKeys?>(nil)

    /// Creates a source over another one.
    /// - Parameters:
    ///   - base: The source to read from.
    ///   - keys: The keys that the program has fetched before. They are used first, so that the user is not asked for a
    ///     passphrase again.
    package init(over base: any KeySource, _ keys: SealingKeys) {
        self.base = base
        self.keys = keys
    }

    /// The name of the base source for messages.
    package var identifier: String { base.identifier }
    /// The short name of the base source.
    package var pin: String { base.pin }
    /// The protection level of the base source.
    package var protection: ProtectionLevel { base.protection }
    package var takesItsTime: Bool { base.takesItsTime }

    /// Returns the keys that were created here, or else the keys of the base source.
    package func load() async throws(BackendError) -> SourceKeys? {
        if let made = made.withLock(\.self) { return made }
        if let known = await keys.fetched(from: base) { return known }
        return try await base.load()
    }

    /// Returns true: every key that was loaded or created here counts as held.
    package func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool { true }

    /// Keeps the first keys in memory. Later calls return them again.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        made.withLock { made in
            if let made { return made }
            made = keys
            return keys
        }
    }

}
