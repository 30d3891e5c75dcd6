import BackendContract
import BackendRuntime
import LocalData
import Sealing

/// The present key of a key source on this machine. A key source is the location of an encryption key, such as a
/// keyring item or a key file.
struct ResolvedKey: Sendable {
    let reference: KeySourceReference
    let key: SealingKey
    /// The short name of the source, which is stored with the data that its key sealed.
    let pin: String
    /// The description of the source, for messages.
    let identifier: String
    /// Whether the key differs from the backup's key for this source.
    let isOther: Bool
}

/// Adds the backup's keys to the sources on this machine. A source that has a key keeps this key, and the data keys of
/// the restored databases are encrypted with it (rewrapped).
struct RestoredKeys {
    private let content: BackupVerifier.Content
    private let wiring: Wiring

    init(_ content: BackupVerifier.Content, _ wiring: Wiring) { (self.content, self.wiring) = (content, wiring) }

    /// Resolves the keys of the configured sources, and of the sources whose keys sealed single values in the backup.
    /// Other sources are not needed, because the data keys of the databases are encrypted for the configured sources
    /// (rewrapped).
    /// - Throws: `StorageError` with `encryptionKeyMismatch` if a source already has another key, and single values are sealed with the
    ///   backup's key.
    func settle(_ survey: RestoreSurvey) async throws -> [ResolvedKey] {
        var resolved: [ResolvedKey] = []
        let named = Set(wiring.configuration.otherKeySources + [wiring.configuration.keySource] + survey.databases.values)
        let needed = content.keys.filter { kept in
            named.contains(kept.reference) || kept.keys.all.contains { survey.sealings.contains(SealingKey.name(of: $0.id)) }
        }
        let own = needed.map(\.reference) + survey.databases.values
        for reference in Set(own).sorted(by: { $0.description < $1.description }) {
            let kept = content.keys.first { $0.reference == reference }
            let source = try wiring.keySource(reference)
            let keys = try await translating("\(reference)", await self.keys(source, reference, kept))
            let others = kept?.keys.all.filter { !keys.contains($0.identity) } ?? []
            // Reason: "A restore keeps the key that a machine has" in Docs/Decisions/Backups.md.
            if others.contains(where: { survey.sealings.contains(SealingKey.name(of: $0.id)) }) {
                throw StorageError(
                    StorageError.encryptionKeyMismatch, key: "\(reference)",
                    "This machine has another key in \(reference), and the backup holds single values that were sealed with its own. Move that key away if nothing here needs it, or restore with a configuration whose key source is empty. Nothing was changed."
                )
            }
            resolved.append(
                ResolvedKey(
                    reference: reference, key: keys.current, pin: source.pin, identifier: source.identifier, isOther: !others.isEmpty))
        }
        return resolved
    }

    private func keys(
        _ source: any KeySource, _ reference: KeySourceReference, _ kept: BackupSourceKeys?
    ) async throws(BackendError) -> SourceKeys {
        if case .passphrase(let name) = reference.form, let kept, try await !hasOtherFile(name) {
            // The restore also restores the passphrase file, which contains the backup's key. The source therefore has
            // this key afterwards.
            return kept.keys
        }
        if let keys = try await source.load() { return keys }
        let new = kept?.keys ?? SourceKeys(only: .random(wiring.configuration.runtime.randomBytes))
        let keys = try await source.create(new)
        try await source.synchronize()
        return keys
    }

    /// Whether a passphrase file exists here and differs from the backup's file.
    private func hasOtherFile(_ name: String) async throws(BackendError) -> Bool {
        guard let stored = content.report.stores.first(where: { $0.kind == BackedStore.passphrase && $0.scope == name })
        else {
            return true
        }
        let store: BackedStore
        do { store = try wiring.backedStore(BackedStore.passphrase, name) } catch { return true }
        let deadline = wiring.configuration.runtime.clock.now.advanced(by: wiring.configuration.deadlines.files)
        guard let copy = try await store.store.copyForBackup(deadline: deadline) else { return false }
        var digest = BackupDigest()
        while let part = try await copy.nextPart() { digest.take(part) }
        return hexadecimalText(of: digest.digest) != stored.digest
    }
}
