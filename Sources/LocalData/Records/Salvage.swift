import BackendContract
package import Foundation

/// Exports damaged records, sets them aside and removes them.
package struct Salvage: EnginePart, Sendable {
    let engine: Engine

    /// The slot of a damaged record, and its present content.
    private enum Found {
        /// A slot that has a name.
        case named(Route, StorageProbe)
        /// A slot whose name is lost.
        case nameless(Route, any SalvageableBackend, DamageHandle, StorageCorruption)
    }

    /// Returns the stored bytes of a damaged record.
    package func data(of record: DamagedRecord) async throws -> Data {
        switch try await find(record) {
        case .named(_, .value(let stored)): Data(stored.payload.exported)
        case .named(_, .corrupt(let corruption)), .nameless(_, _, _, let corruption): Data(corruption.bytes)
        case .named: throw Self.changed(record)
        }
    }

    /// Stores a damaged record durably in the quarantine, and then removes it.
    package func setAside(_ record: DamagedRecord) async throws {
        try await slots.unbroken { [self] in
            let reason = "set aside: it could not be read"
            let found = try await find(record)
            switch found {
            case .named(let route, .value(let stored)): try await history.quarantine.keep(stored, of: route, beside: [], reason: reason)
            case .named(let route, .corrupt(let corruption)): _ = try await history.quarantine.keep(corruption, of: route, beside: [])
            case .nameless(let route, _, _, let corruption):
                let stored = StorageRecord(payload: .bytes(corruption.bytes), revision: StorageRevision([]))
                try await history.quarantine.keep(stored, of: route, beside: [], reason: reason)
            case .named: throw Self.changed(record)
            }
            try await remove(found, record)
        }
    }

    /// Removes a damaged record without keeping a copy.
    package func remove(_ record: DamagedRecord) async throws {
        try await slots.unbroken { [self] in try await remove(try await find(record), record) }
    }

    private func remove(_ found: Found, _ record: DamagedRecord) async throws {
        switch found {
        case .named(let route, let probe):
            let change = Committer.Change(try await Purger(engine: engine).deletion(of: probe, route), route, if: probe.unchanged)
            let isRemoved = try await slots.withLane(route) { try await slots.committer.commit([change]).isCommitted }
            guard isRemoved else { throw Self.changed(record) }
        case .nameless(_, let backend, let handle, _):
            let isRemoved = try await translating("\(record.domain)", await backend.deleteDamage(at: handle))
            guard isRemoved else { throw Self.changed(record) }
        }
    }

    private func find(_ record: DamagedRecord) async throws -> Found {
        let name = "\(record.domain)"
        let (domain, backend) = try slots.routes.backend(for: record.domain, key: name)
        func route(_ address: StorageAddress) -> Route {
            Route(
                keyName: address.name, domain: domain, backend: backend, slot: backend.slot(address), security: .automatic,
                protection: backend.capabilities.protection, gate: slots.routes.gate)
        }
        switch record.place {
        case .named(let address, let revision):
            do throws(BackendError) { try address.validate() } catch { throw StorageError.from(error, key: address.name) }
            let route = route(address)
            let probe = try await route.probe(.fresh)
            guard probe.revision == revision else { throw Self.changed(record) }
            return .named(route, probe)
        case .nameless(let handle):
            if backend is any PartlyLockedBackend { throw StorageError.locked(name, domain) }
            let salvageable = backend as? any SalvageableBackend
            let damage = try await translatingErrors(key: name) { () throws(BackendError) in try await salvageable?.damage(at: handle) }
            guard let salvageable, let damage else { throw Self.changed(record) }
            return .nameless(route(StorageAddress("a record without a name")), salvageable, handle, damage)
        }
    }

    private static func changed(_ record: DamagedRecord) -> StorageError {
        StorageError(
            StorageError.notFound, key: record.name ?? "\(record.domain)",
            "The damaged record is gone, or was changed since it was listed. Nothing was changed. List the damaged records again.")
    }
}
