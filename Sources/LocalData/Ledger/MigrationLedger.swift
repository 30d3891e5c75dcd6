import BackendContract
import BackendRuntime
import Foundation
import Synchronization

/// The ledger: notes for later runs of the program. It records the version of the program that completed a sweep, the work of
/// each migration and its time, the older copies that remain, and the identity of the key of each key source.
///
/// Correctness does not depend on the ledger: its notes are for people and for conditions of migrations. Only the pins (the
/// recorded identities of sealing keys) must be written. An error in writing another note is ignored, unless the note is a
/// request to end a release window.
///
/// The store of the ledger is read and written as a whole, so it has only notes whose number is bounded. The pins have a
/// separate store, because every opening of an encrypted database reads one. The history of migrations is a ``HistoryLog``.
final class MigrationLedger: Sendable {
    let store: OwnStore
    /// The store of the pins; nil if they are in ``store``.
    let pinStore: OwnStore?

    private struct State {
        /// The mutations that the next flush writes, by slot. A later mutation of a slot replaces an earlier one.
        var pending: [StorageAddress: StorageMutation] = [:]
        /// The content of the ledger when it was last read; nil before the first read.
        var known: Known?
        /// Whether this run has recorded an older copy.
        var hasNotedResidue = false
        /// The domains that were written to in this run.
        var domains: Set<StorageDomain> = []
        /// The domains that the next flush records, unless an earlier run has recorded them.
        var unrecorded: [StorageAddress: StorageDomain] = [:]
    }

    private struct Known {
        /// The versions that completed a sweep, by the addresses of their catalogs, when the ledger was first read.
        var versions: Result<[StorageAddress: String], BackendError>
        /// Nil if they could not be read.
        var residues: Set<StorageAddress>?
    }

    private let state = Mutex(State())
    let counts: LedgerHistory

    /// The maximum number of recorded databases, for programs with a database for each tenant. A backup finds further ones by
    /// their files.
    static let maximumOfDatabases = 1_000
    /// The maximum number of recorded older copies. Reports show these; further copies are deleted later all the same.
    static let maximumOfResidues = 1_000

    /// Moves the pins that an earlier release recorded in the ledger, and deletes its history. Returns whether there were pins.
    let foldEarlier: @Sendable (MigrationLedger) async throws(BackendError) -> Bool
    /// The application that writes to the domains; nil if it is not recorded.
    private let application: String?

    /// - Parameters:
    ///   - store: The store of the ledger.
    ///   - pins: The store of the pins; nil if they are in the store of the ledger.
    ///   - counts: The history of migrations.
    ///   - application: The application that is recorded as an owner of the stores; nil to record none.
    ///   - foldEarlier: Moves the pins that an earlier release recorded in the ledger, and deletes its history.
    init(
        _ store: OwnStore, pins: OwnStore?, counts: LedgerHistory, application: String? = nil,
        foldEarlier: @escaping @Sendable (MigrationLedger) async throws(BackendError) -> Bool = { _ in false }
    ) {
        (self.store, pinStore, self.counts, self.application, self.foldEarlier) = (store, pins, counts, application, foldEarlier)
    }

    /// Returns a ledger for a rehearsal. It begins with the state of this ledger, and its changes stay in memory.
    func rehearsed(_ rehearse: @escaping @Sendable (any StorageBackend) -> any StorageBackend) -> MigrationLedger {
        func rehearsed(_ store: OwnStore) -> OwnStore { OwnStore { rehearse(try store.backend()) } }
        let copy = MigrationLedger(
            rehearsed(store), pins: pinStore.map(rehearsed), counts: LedgerHistory(copying: counts), foldEarlier: foldEarlier)
        let known = state.withLock(\.self)
        copy.state.withLock { $0 = known }
        return copy
    }

    func backend() throws(BackendError) -> any StorageBackend {
        do { return try store.backend() } catch { throw BackendError(.unavailable, "The migration ledger cannot be opened: \(error)") }
    }

    /// Returns the text that is recorded under a name; nil if there is none.
    func text(_ name: String) async throws(BackendError) -> String? {
        let probe = try await backend().read(StorageAddress(Self.shortened(name)), .validated)
        guard case .native(.string(let text)) = try Self.payload(of: probe) else { return nil }
        return text
    }

    /// Returns the content of a slot of the ledger; nil if the slot has no value.
    static func payload(of probe: StorageProbe) throws(BackendError) -> StoragePayload? {
        switch probe {
        case .value(let record): return record.payload
        case .absent, .tombstone: return nil
        case .locked: throw BackendError(.locked, "The migration ledger is locked.")
        case .unavailable(let error): throw error
        case .corrupt:
            throw BackendError(
                .corrupted,
                "The migration ledger is damaged, and was not changed. Move it away to begin a new one; no value depends on it.")
        }
    }

    /// Returns the version of the program that had completed the last sweep of a catalog when this run first read the ledger.
    /// - Returns: Nil if no sweep was recorded; an error if the ledger cannot be read.
    func applicationVersion(of catalog: String) async -> Result<String?, BackendError> {
        if case .success(let versions)? = state.withLock(\.known)?.versions { return .success(versions[Self.versionAddress(catalog)]) }
        await look()
        guard let versions = state.withLock(\.known)?.versions else { return .success(nil) }
        return versions.map { $0[Self.versionAddress(catalog)] }
    }

    /// Reads the versions and the residue that earlier runs and other processes have recorded. Versions that this run has
    /// already read are kept.
    func look() async {
        let found: Known
        do throws(BackendError) {
            // Entries that cannot be moved do not make the others unreadable.
            _ = try? await foldEarlier(self)
            let versions = try await texts(Self.version).map { (StorageAddress($0), $1) }
            found = Known(
                versions: .success(Dictionary(versions) { first, _ in first }), residues: try await addresses(Self.residue))
        } catch {
            // Only a condition on the version needs the answer. It gets the error.
            found = Known(versions: .failure(error), residues: nil)
        }
        state.withLock { state in
            var known = found
            if case .success? = state.known?.versions { known.versions = state.known?.versions ?? found.versions }
            state.known = known
        }
    }

    /// Records that a version completed a sweep of a catalog.
    func completed(version: String, _ catalog: String) { note(.put(.native(.string(version)), at: Self.versionAddress(catalog))) }

    /// Records that a migration succeeded, with the present time.
    /// - Parameter values: The number of values that it migrated.
    func worked(_ migration: String, values: Int = 1) { counts.worked(migration, values: values) }

    /// Returns the history of migrations that this run and earlier runs have recorded.
    /// - Throws: `BackendError` if the ledger cannot be read.
    func history() async throws(BackendError) -> MigrationHistory {
        await flush()
        var history = try await counts.read()
        for (name, version) in try await texts(Self.version) { history.versions[String(name.dropFirst(Self.version.count))] = version }
        return history
    }

    /// Records that an older copy remains, with the reason why it could not be deleted yet.
    func remains(_ copy: Route, of destination: Route, _ reason: String) {
        note(.put(.native(.string(reason)), at: Self.residueAddress(copy, destination)))
    }

    /// Deletes the note about an older copy, because the copy is gone.
    func isGone(_ copy: Route, of destination: Route) {
        // Most programs have no residue. For these, do not compute the name of a note at each visit of each key.
        if state.withLock({ !$0.hasNotedResidue && $0.known?.residues?.isEmpty == true }) { return }
        let address = Self.residueAddress(copy, destination)
        let wasRecorded = state.withLock { $0.pending[address] != nil || $0.known?.residues?.contains(address) ?? true }
        if wasRecorded { note(.delete(address)) }
    }

    /// Returns the older copies that remain, as `<destination>|<copy>`, with the reasons. Returns none if the ledger cannot be read.
    func residues() async -> [String: String] {
        await flush()
        var residues: [String: String] = [:]
        for (address, probe) in (try? await entries { $0.hasPrefix(Self.residue) }) ?? [] {
            guard case .native(.string(let reason)) = probe.record?.payload else { continue }
            let places = String(address.name.dropFirst(Self.residue.count))
            let words = Place.places(in: places)?.map(\.description).joined(separator: "|") ?? places
            residues[words] = residues[words].map { "\($0); \(reason)" } ?? reason
        }
        return residues
    }

    /// Records a request to end the release window of a key, durably. The next sweep ends it.
    func requestRelease(of destination: Route) async throws(BackendError) {
        let address = StorageAddress(Self.shortened(Self.releaseName(destination)))
        try await apply([.put(.native(.string("requested")), at: address)], to: try backend())
    }

    /// Returns whether the end of a key's release window was requested. Returns false if the ledger cannot be read.
    func isReleaseRequested(_ destination: Route) async -> Bool { (try? await text(Self.releaseName(destination))) != nil }

    /// Deletes the request to end a release window, because the window is over.
    func isReleased(_ destination: Route) { note(.delete(StorageAddress(Self.shortened(Self.releaseName(destination))))) }

    private static func releaseName(_ destination: Route) -> String { "\(Self.release)\(destination.place.text)" }

    /// Records a text under a name.
    func note(_ text: String, as name: String) { note(.put(.native(.string(text)), at: StorageAddress(Self.shortened(name)))) }

    /// Applies mutations, and throws if one of them failed.
    func apply(_ mutations: [StorageMutation], to backend: any StorageBackend) async throws(BackendError) {
        for result in try await backend.apply(mutations) {
            switch result {
            case .applied: continue
            case .failed(let error): throw error
            default: throw BackendError(.unavailable, "Another process changed the notes of migrations at the same time. Try again.")
            }
        }
    }

    private func note(_ mutation: StorageMutation) {
        state.withLock { state in
            state.pending[mutation.address] = mutation
            if case .put = mutation.operation, mutation.address.name.hasPrefix(Self.residue) {
                state.known?.residues?.insert(mutation.address)
                state.hasNotedResidue = true
            }
        }
    }

    // MARK: Entries

    /// The beginnings of the names of the entries.
    private static let (version, residue, release, domain, owner) = ("version:", "residue:", "release:", "domain:", "owner:")

    private func addresses(_ prefix: String) async throws(BackendError) -> Set<StorageAddress> {
        Set(try await backend().addresses(in: .values).filter { $0.name.hasPrefix(prefix) })
    }

    /// Returns the entries with some names.
    func entries(_ isWanted: (String) -> Bool) async throws(BackendError) -> [(address: StorageAddress, probe: StorageProbe)] {
        try await Self.entries(of: try backend(), isWanted)
    }

    static func entries(
        of backend: any StorageBackend, _ isWanted: (String) -> Bool
    ) async throws(BackendError) -> [(address: StorageAddress, probe: StorageProbe)] {
        let addresses = try await backend.addresses(in: .values).filter { isWanted($0.name) }
        return Array(zip(addresses, try await backend.read(addresses, .validated)))
    }

    /// Returns the texts of the entries whose names begin with a prefix.
    private func texts(_ prefix: String) async throws(BackendError) -> [(name: String, text: String)] {
        var texts: [(name: String, text: String)] = []
        for (address, probe) in try await entries({ $0.hasPrefix(prefix) }) {
            if case .native(.string(let text))? = try Self.payload(of: probe) { texts.append((address.name, text)) }
        }
        return texts
    }

    // MARK: Domains

    /// Records that a domain was written to. A backup in a later run copies this domain even if that run has not used it.
    func uses(_ domain: StorageDomain) {
        guard domain.scope != nil, domain.kind != .memory else { return }
        state.withLock { state in
            guard state.domains.insert(domain).inserted else { return }
            state.unrecorded[Self.domainAddress(domain)] = domain
        }
    }

    /// Notes the domains that this run has written to and no earlier run has recorded, and the application.
    private func noteDomains() async throws(BackendError) {
        let domains = state.withLock(\.unrecorded)
        if domains.isEmpty { return }
        let addresses = domains.keys.sorted { $0.name < $1.name }
        let owner = application.map { [Self.ownerAddress($0)] } ?? []
        var counts: [StorageDomain.Kind: Int] = [:]
        if domains.values.contains(where: { $0.kind == .encryptedSQLite }) { counts[.encryptedSQLite] = try await recordedDatabases() }
        for (address, probe) in zip(addresses + owner, try await backend().read(addresses + owner, .validated)) {
            guard try Self.payload(of: probe) == nil else { continue }
            if let domain = domains[address] {
                counts[domain.kind, default: 0] += 1
                if domain.kind == .encryptedSQLite, counts[domain.kind, default: 0] > Self.maximumOfDatabases { continue }
                note(.put(.native(.array([.string(domain.kind.name), .string(domain.scope ?? "")])), at: address))
            } else if let application {
                note(.put(.native(.string(application)), at: address))
            }
        }
        state.withLock { state in for address in addresses { state.unrecorded[address] = nil } }
    }

    /// Returns the number of recorded databases.
    private func recordedDatabases() async throws(BackendError) -> Int {
        try await addresses("\(Self.domain)\(StorageDomain.Kind.encryptedSQLite.name):").count
    }

    /// Returns the applications that have written to domains. An earlier release of the library has recorded none.
    /// - Throws: `BackendError` if the ledger cannot be read.
    func owners() async throws(BackendError) -> Set<String> {
        Set(try await texts(Self.owner).map(\.text))
    }

    private static func ownerAddress(_ application: String) -> StorageAddress { StorageAddress(shortened("\(Self.owner)\(application)")) }

    /// Returns the recorded domains that this run and earlier runs have written to.
    /// - Throws: `BackendError` if the ledger cannot be read.
    func domains() async throws(BackendError) -> Set<StorageDomain> {
        var domains: Set<StorageDomain> = []
        for (_, probe) in try await entries({ $0.hasPrefix(Self.domain) }) {
            guard case .native(.array(let parts)) = try Self.payload(of: probe), parts.count == 2, case .string(let kind) = parts[0],
                case .string(let scope) = parts[1]
            else { continue }
            domains.insert(StorageDomain(kind: StorageDomain.Kind(kind), scope: scope))
        }
        return domains
    }

    /// Writes the notes in one commit, and then the history of migrations. Ignores errors: notes that cannot be written are dropped.
    func flush() async {
        // Ignore the error, as for all notes.
        try? await noteDomains()
        let pending = state.withLock { state in
            defer { state.pending = [:] }
            return state.pending.values.sorted { $0.address.name < $1.address.name }
        }
        do throws(BackendError) {
            if !pending.isEmpty { _ = try await backend().apply(try await bounded(pending)) }
            try await counts.flush()
        } catch {
            // Ignore the error: see the description of the type.
            // Reason: "Correctness does not depend on the ledger" in Docs/Decisions/Migration.md.
        }
    }

    /// Returns mutations without those that would record more older copies than ``maximumOfResidues``.
    private func bounded(_ mutations: [StorageMutation]) async throws(BackendError) -> [StorageMutation] {
        func records(_ mutation: StorageMutation) -> Bool {
            if case .put = mutation.operation { mutation.address.name.hasPrefix(Self.residue) } else { false }
        }
        guard mutations.contains(where: records) else { return mutations }
        let known = try await addresses(Self.residue)
        var rest = Self.maximumOfResidues - known.count
        return mutations.filter { mutation in
            guard records(mutation), !known.contains(mutation.address) else { return true }
            rest -= 1
            return rest >= 0
        }
    }

    /// Deletes the entries about the values of domains whose content was destroyed, and about these domains. Ignores errors.
    func forget(_ domains: Set<StorageDomain>) async {
        await flush()
        let isOfDomains: @Sendable (Place) -> Bool = {
            domains.contains(StorageDomain(kind: StorageDomain.Kind($0.kind), scope: $0.scope))
        }
        func isForgotten(_ address: StorageAddress) -> Bool {
            for prefix in [Self.residue, Self.release] where address.name.hasPrefix(prefix) {
                return (Place.places(in: String(address.name.dropFirst(prefix.count))) ?? []).contains(where: isOfDomains)
            }
            return domains.contains { address == Self.domainAddress($0) }
        }
        do throws(BackendError) {
            _ = try await foldEarlier(self)
            try await counts.forget(isOfDomains)
            let backend = try backend()
            let entries = try await backend.addresses(in: .values).filter(isForgotten)
            if !entries.isEmpty { _ = try await backend.apply(entries.map { .delete($0) }) }
        } catch {
            // Ignore the error: see the description of the type.
            // Reason: "Correctness does not depend on the ledger" in Docs/Decisions/Migration.md.
        }
        state.withLock { $0.domains.subtract(domains) }
    }

    private static func domainAddress(_ domain: StorageDomain) -> StorageAddress {
        StorageAddress(shortened("\(Self.domain)\(domain.kind.name):\(domain.scope ?? "")"))
    }

    /// Closes the store. Notes that were not flushed stay in memory.
    func close() async {
        await store.close()
        await pinStore?.close()
    }

    private static func versionAddress(_ catalog: String) -> StorageAddress { StorageAddress(shortened("\(Self.version)\(catalog)")) }

    private static func residueAddress(_ copy: Route, _ destination: Route) -> StorageAddress {
        StorageAddress(shortened("\(Self.residue)\(destination.place.text)\(copy.place.text)"))
    }

    /// Returns the name of an entry, which the ledger's store accepts. A long name is cut, control characters are replaced, and
    /// the text is normalized (NFC). A name that was changed ends with a hash of the original name, so that different names
    /// stay different.
    static func shortened(_ name: String) -> String {
        // Printable ASCII is in normal form C.
        if name.utf8.count <= 900, name.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return name }
        let safe = name.precomposedAndPrintable
        if safe.utf8.count <= 900, safe.utf8.elementsEqual(name.utf8) { return safe }
        return
            "\(safe.prefix(300))…\(RecordOrigin.fingerprint(of: StorageRecord(payload: .bytes(Array(name.utf8)), revision: StorageRevision([]))))"
    }
}

extension String {
    /// The text in normal form C (NFC), with control characters replaced. Every store accepts it as a name.
    fileprivate var precomposedAndPrintable: String {
        String(
            String.UnicodeScalarView(
                precomposedStringWithCanonicalMapping.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
    }
}
