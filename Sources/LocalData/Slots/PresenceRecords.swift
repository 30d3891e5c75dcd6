import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Synchronization

/// Records, outside the store of a value, that the value exists. This is the witness of the value. It is kept only for keys that ask for
/// it. It distinguishes a value that disappeared without having been removed from a value that never existed.
///
/// The witnesses are the entries of one list, which is a separate store of the library. Each value that was read or written has an entry.
/// An entry is written after the value, and removed after the value's tombstone is written. If the process is killed in between, an entry
/// is missing, or the tombstone shows that the value was removed. So a value is reported as vanished only if it existed. A value without an
/// entry gets one when it is next read. The list identifies values by a salted digest.
final class PresenceRecords: Sendable {
    private let own: OwnStore
    private let runtime: Runtime
    /// Whether the list is never changed, as in rehearsals.
    private let isReadOnly: Bool
    private let salt = Mutex<[UInt8]?>(nil)
    /// The slots whose entries this process has read or written.
    private let seen = Mutex<Set<PhysicalSlot>>([])

    init(_ own: OwnStore, runtime: Runtime, isReadOnly: Bool = false) {
        (self.own, self.runtime, self.isReadOnly) = (own, runtime, isReadOnly)
    }

    /// Returns the same list for a rehearsal, which does not change it.
    func rehearsed() -> PresenceRecords { PresenceRecords(own, runtime: runtime, isReadOnly: true) }

    /// Checks the result of a read against the list: if the slot is empty but has an entry, its value is not absent, but has vanished. Also
    /// adds the entry of a value, and removes the entry if the slot has a tombstone.
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
            // The value may have arrived since the slot was read. A removal leaves a tombstone, so a slot that is still empty has lost its
            // value.
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
            + "Bring the store back, restore a backup, set the value again, or accept the loss with StorageRouter.acknowledgeLoss(for:)."
    }

    /// The attribute of an entry that names the keyring which had the value.
    private static let keeperAttribute = "keeper"

    /// Returns the keyring program of a store and its default collection; nil for other kinds of stores, and if the keyring does not
    /// answer.
    private static func keeper(of route: Route) async -> String? { try? await (route.backend as? any DescribableKeyring)?.keeper() }

    /// Notes that there is a value. If that fails, the next read of the value notes it.
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
    /// - Throws: ``StorageError`` if that cannot be written.
    func acknowledge(at route: Route) async throws {
        forget(route)
        if isReadOnly { return }
        if try await entry(for: route) != nil { try await apply(.delete(try await address(of: route))) }
    }

    /// Like ``acknowledge(at:)``, but ignores errors; the next read retries.
    func end(at route: Route) async {
        // After an error, the next read finds the tombstone in the slot, and removes the entry.
        try? await acknowledge(at: route)
    }

    /// Closes the list.
    func close() async { await own.close() }

    /// Clears the cached salt and slots of this process, because the list was destroyed.
    func forgetAll() {
        salt.withLock { $0 = nil }
        seen.withLock { $0 = [] }
    }

    private func forget(_ route: Route) { seen.withLock { _ = $0.remove(route.slot) } }

    // MARK: The list

    /// - Throws: ``StorageError`` if the list cannot be read: then absence is not proven.
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
                "The list of witnesses (witness.plist in the data folder) is damaged: \(damage.reason). Without it, a lost value cannot be distinguished from a value that never existed. Restore it from a backup, or remove it."
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

    /// Returns the salt; nil if the list has none yet, and therefore no entries.
    private func knownSalt() async throws -> [UInt8]? {
        if let known = salt.withLock(\.self) { return known }
        guard case .native(.data(let bytes))? = try await read(Self.saltAddress, "witness").record?.payload else { return nil }
        salt.withLock { $0 = bytes }
        return bytes
    }

    private func address(of route: Route) async throws -> StorageAddress {
        if let known = try await knownSalt() { return Self.address(of: route, known) }
        let new = StoragePayload.native(.data(runtime.randomBytes(16)))
        // If several processes write a salt, only the first one is stored.
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
    /// Checks the result of a read of the slot against the witness of its value, if there is one.
    func heeded(_ probe: StorageProbe) async throws -> StorageProbe {
        guard let witnesses, !overridesWitness else { return probe }
        return try await witnesses.heed(probe, at: self)
    }

    /// The route without the check of its witness, for a caller that replaces or removes the value even if it has vanished.
    var overridingWitness: Route { witnesses == nil || overridesWitness ? self : Route(self, overridesWitness: true) }
}

extension Slot {
    /// The slot without the check of its witness, for a caller that replaces or removes the value even if it has vanished.
    var overridingWitness: Slot { route.witnesses == nil ? self : Slot(key: key, route: route.overridingWitness) }
}
