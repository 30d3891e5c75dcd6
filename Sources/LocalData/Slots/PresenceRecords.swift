import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Synchronization

/// Remembers, outside the store of a value, that there is a value, for keys that ask for it: then a value that is gone without having been removed
/// is told from one that never was.
///
/// One list of the library's own, with an entry for each value that was seen. An entry is written after the value, and removed after the value's
/// tombstone was written, so that a process which is killed in between leaves too few entries and never one too many: a value is called vanished
/// only if it was there. A value without an entry gets one when it is next seen. The list names values by a salted digest.
final class PresenceRecords: Sendable {
    private let own: OwnStore
    private let runtime: Runtime
    /// Whether nothing is written: for rehearsals.
    private let isReadOnly: Bool
    private let salt = Mutex<[UInt8]?>(nil)
    /// The slots whose entries this process has seen or written.
    private let seen = Mutex<Set<PhysicalSlot>>([])

    init(_ own: OwnStore, runtime: Runtime, isReadOnly: Bool = false) {
        (self.own, self.runtime, self.isReadOnly) = (own, runtime, isReadOnly)
    }

    /// The same entries for a rehearsal, which writes none.
    func rehearsed() -> PresenceRecords { PresenceRecords(own, runtime: runtime, isReadOnly: true) }

    /// What may be believed of a slot that was read: an empty one that had a value is not absent.
    func heed(_ probe: StorageProbe, at route: Route) async throws -> StorageProbe {
        switch probe {
        case .value:
            await noteValue(at: route)
            return probe
        case .tombstone:
            await end(at: route)
            return probe
        case .absent:
            guard let entry = try await entry(for: route) else { return probe }
            // The value may have come since the slot was read. A removal leaves a tombstone: what is empty now has lost its value.
            // Reason: "The list of witnesses never has an entry too many" in Docs/Decisions/Keyring.md.
            let now = try await route.lookAtStore(.fresh)
            if case .absent = now { return .unavailable(BackendError(.init("vanished"), await Self.message(route, entry))) }
            return try await heed(now, at: route)
        default: return probe
        }
    }

    private static func message(_ route: Route, _ entry: StorageRecord) async -> String {
        var keepers = ""
        if let before = entry.metadata.attributes[keeperAttribute], let now = await keeper(of: route) {
            keepers = before == now ? "\(now) kept it, and answers now too. " : "\(before) kept it, and \(now) answers now. "
        }
        return
            "The value was in \(route.domain), and is gone without having been removed: another program deleted it, or the store was reset or replaced by another one. "
            + keepers
            + "Bring the store back, restore a backup, set the value anew, or accept the loss with StorageRouter.acknowledgeLoss(for:)."
    }

    /// The attribute of an entry with the keyring that had the value.
    private static let keeperAttribute = "keeper"

    /// The keyring program of a store, and its default collection; nil for another kind of store, and if it cannot be asked.
    private static func keeper(of route: Route) async -> String? { try? await (route.backend as? any DescribableKeyring)?.keeper() }

    /// Notes that there is a value. If that fails, it is noted when the value is next seen.
    func noteValue(at route: Route) async {
        if isReadOnly || !seen.withLock({ $0.insert(route.slot).inserted }) { return }
        do {
            let (entry, keeper) = (try await entry(for: route), await Self.keeper(of: route))
            if let entry, keeper == nil || keeper == entry.metadata.attributes[Self.keeperAttribute] { return }
            var metadata = entry?.metadata ?? StorageMetadata(modifiedAt: runtime.clock.wallSeconds)
            metadata.attributes[Self.keeperAttribute] = keeper
            let unchanged = entry.map { StorageMutation.Precondition.revision($0.revision) } ?? .absent
            try await apply(.put(.native(.boolean(true)), metadata, at: try await address(of: route), if: unchanged))
        } catch { forget(route) }
    }

    /// Notes that there is no value: it was removed, or its loss is accepted.
    /// - Throws: ``StorageError`` when that cannot be written.
    func acknowledge(at route: Route) async throws {
        forget(route)
        if isReadOnly { return }
        if try await entry(for: route) != nil { try await apply(.delete(try await address(of: route))) }
    }

    /// The same where it can be done later.
    func end(at route: Route) async {
        do { try await acknowledge(at: route) } catch {
            // The tombstone in the slot says it as well: the entry goes when that is next seen.
        }
    }

    /// Closes the list.
    func close() async { await own.close() }

    /// Forgets what this process has read of the list, because the list was destroyed.
    func forgetAll() {
        salt.withLock { $0 = nil }
        seen.withLock { $0 = [] }
    }

    private func forget(_ route: Route) { seen.withLock { _ = $0.remove(route.slot) } }

    // MARK: The list

    /// - Throws: ``StorageError`` when the list cannot be read: then absence is not proven.
    private func entry(for route: Route) async throws -> StorageRecord? {
        guard let salt = try await knownSalt() else { return nil }
        return try await read(Self.address(of: route, salt), route.keyName).record
    }

    private func read(_ address: StorageAddress, _ name: String) async throws -> StorageProbe {
        let store = try own.backend()
        let probe = try await translatingErrors(key: name) { () throws(BackendError) in try await store.read([address], .validated).first }
        switch probe {
        case .unavailable(let error)?: throw StorageError.from(error, key: name)
        case .locked?, nil: throw StorageError(StorageError.unavailable, key: name, "The list of witnesses cannot be read.")
        case .corrupt(let damage)?:
            throw StorageError(
                StorageError.corrupted, key: name,
                "The list of witnesses (witness.plist in the data folder) is damaged: \(damage.reason). Without it a lost value cannot be told from one that never was. Restore it from a backup, or remove it."
            )
        case let probe?: return probe
        }
    }

    private func apply(_ mutation: StorageMutation) async throws {
        let store = try own.backend()
        let result = try await translatingErrors(key: "witness") { () throws(BackendError) in try await store.apply([mutation])[0] }
        if case .failed(let error) = result { throw StorageError.from(error, key: "witness") }
    }

    private static let saltAddress = StorageAddress("salt")

    /// The salt; nil where there is none yet, and therefore no entry.
    private func knownSalt() async throws -> [UInt8]? {
        if let known = salt.withLock(\.self) { return known }
        guard case .native(.data(let bytes))? = try await read(Self.saltAddress, "witness").record?.payload else { return nil }
        salt.withLock { $0 = bytes }
        return bytes
    }

    private func address(of route: Route) async throws -> StorageAddress {
        if let known = try await knownSalt() { return Self.address(of: route, known) }
        let new = StoragePayload.native(.data(runtime.randomBytes(16)))
        // Whoever comes first decides.
        try await apply(.put(new, at: Self.saltAddress, if: .absent))
        guard let salt = try await knownSalt() else {
            throw StorageError(StorageError.unavailable, key: route.keyName, "The list of witnesses cannot be written.")
        }
        return Self.address(of: route, salt)
    }

    private static func address(of route: Route, _ salt: [UInt8]) -> StorageAddress {
        var hash = SHA256()
        hash.update(data: salt)
        hash.update(data: Array(route.place.text.utf8))
        return StorageAddress(hexadecimalText(of: hash.finalize().prefix(16)))
    }
}

extension Route {
    /// What may be believed of the slot, by the witness of its value.
    func heeded(_ probe: StorageProbe) async throws -> StorageProbe {
        guard let witnesses, !overridesWitness else { return probe }
        return try await witnesses.heed(probe, at: self)
    }

    /// The same place for a caller who replaces or removes the value, whatever became of it.
    var overridingWitness: Route { witnesses == nil || overridesWitness ? self : Route(self, overridesWitness: true) }
}

extension Slot {
    /// The slot for a caller who replaces or removes the value, whatever became of it.
    var overridingWitness: Slot { route.witnesses == nil ? self : Slot(key: key, route: route.overridingWitness) }
}
