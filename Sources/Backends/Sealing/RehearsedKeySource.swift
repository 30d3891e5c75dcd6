package import BackendContract
import Synchronization

/// A source of sealing keys that makes no key: what would be a source's first key is kept in memory, and nothing is stored.
package final class RehearsedKeySource: KeySource {
    private let base: any KeySource
    private let keys: SealingKeys
    private let made = Mutex<SourceKeys?>(nil)

    /// Creates a source over another one.
    /// - Parameters:
    ///   - base: The source that is read.
    ///   - keys: The keys that were fetched before: a passphrase is not asked for again.
    package init(over base: any KeySource, _ keys: SealingKeys) {
        self.base = base
        self.keys = keys
    }

    /// The identifier of the source below.
    package var identifier: String { base.identifier }
    /// The short name of the source below.
    package var pin: String { base.pin }
    /// The protection of the source below.
    package var protection: ProtectionLevel { base.protection }
    package var takesItsTime: Bool { base.takesItsTime }

    /// The keys of the source below, or those that would be its first.
    package func load() async throws(BackendError) -> SourceKeys? {
        if let made = made.withLock(\.self) { return made }
        if let known = await keys.fetched(from: base) { return known }
        return try await base.load()
    }

    /// Whatever was loaded or made here is held.
    package func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool { true }

    /// Keeps first keys in memory.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        made.withLock { made in
            if let made { return made }
            made = keys
            return keys
        }
    }

}
