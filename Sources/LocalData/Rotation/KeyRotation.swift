import BackendContract
import BackendRuntime
import Sealing

/// Brings everything of a program from the older keys of a source to its present one: databases, values, the quarantine.
package struct KeyRotation: Sendable {
    /// What a rotation has done, and what it could not do.
    package struct Outcome: Sendable {
        /// How many databases were given to the new key.
        package var databases = 0
        /// How many values, removals and quarantined values were sealed again.
        package var values = 0
        /// How many older keys the source keeps.
        package let olderKeys: Int
        /// What is still sealed with an older key, or could not be looked at, and why.
        package var remaining: [String] = []
    }

    let env: Environment
    let source: any KeySource
    /// The databases that keys of the source open, and the ids of these keys.
    let databases: @Sendable () async throws(BackendError) -> [StorageDomain: Set<[UInt8]>]

    private var seals: RecordSeals { env.coder.seals }

    /// Makes a new key unless an earlier rotation is unfinished, and seals with it what older keys have sealed.
    package func rotate(_ progress: (Int) -> Void) async throws -> Outcome {
        let keys = try await calling { () throws(BackendError) in try await seals.keys.rotate(source) }
        var report = Outcome(olderKeys: keys.others.count)
        for (domain, ids) in try await found(keys) {
            do {
                try await rewrap(domain, ids, keys)
                report.databases += 1
            } catch let error as StorageError { report.remaining.append("\(domain): \(error.message)") }
        }
        let databases = report.databases
        let values = try await Resealer(env: env, source: source, keys: keys).run { progress(databases + $0) }
        let kept = try await env.quarantine.reseal(source, keys, isOnlyLook: false)
        report.values = values.resealed + kept.resealed
        report.remaining += values.remaining + kept.remaining
        if await drain(.seconds(1)) { await seals.keys.endFormerUses() }
        return report
    }

    /// Deletes the older keys, once nothing needs them that can be seen from here.
    /// - Parameter limit: How long changes of this process that are under way are waited for.
    package func deleteOlderKeys(_ limit: Duration) async throws {
        let keys = try await calling { () throws(BackendError) in try await seals.keys.present(in: source) }
        if keys.others.isEmpty { return }
        // Only catalogs tell where values are.
        guard !env.registry.catalogs.isEmpty else {
            throw refusal(
                StorageError.unsupported, "Register the program's catalogs first: they say where values are that a key has sealed.")
        }
        guard await drain(limit) else {
            throw refusal(
                StorageError.timedOut, "Changes that are under way may still need an older key. Try again when they are done.")
        }
        await seals.keys.endFormerUses()
        let used = try await calling { () throws(BackendError) in try await seals.keys.othersInUse(keys) }
        guard used.isEmpty else {
            throw refusal(
                StorageError.conflict,
                "A running program has sealed with \(used.map(hexadecimalText).joined(separator: ", ")) and may do so again. End it, or let it call rotateKey(of:) too, and try again."
            )
        }
        var remaining = try await found(keys).map { "\($0.key)" }
        remaining += try await Resealer(env: env, source: source, keys: keys).run(isOnlyLook: true).remaining
        remaining += try await env.quarantine.reseal(source, keys, isOnlyLook: true).remaining
        guard remaining.isEmpty else {
            throw refusal(
                StorageError.conflict,
                "\(remaining.count) values or stores need an older key: \(remaining.sorted().prefix(3).joined(separator: "; ")). Call rotateKey(of:) again."
            )
        }
        try await calling { () throws(BackendError) in try await seals.keys.destroyOthers(keys, of: source) }
    }

    /// The databases that an older key opens.
    private func found(_ keys: SourceKeys) async throws -> [StorageDomain: Set<[UInt8]>] {
        let older = Set(keys.others.map(\.id))
        return try await calling { () throws(BackendError) in try await databases() }.filter { !$0.value.isDisjoint(with: older) }
    }

    private func rewrap(_ domain: StorageDomain, _ ids: Set<[UInt8]>, _ keys: SourceKeys) async throws {
        let (_, backend) = try env.routes.backend(for: domain, key: "\(domain)")
        guard let store = backend as? any RecipientStore else {
            throw refusal(StorageError.unsupported, "This configuration does not open the database.")
        }
        try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
            try await store.change(.rotating(to: keys.current, from: keys.others.map(\.id), source: source.pin))
        }
    }

    /// Waits for the changes of this process that are under way now, and may still write what an older key has sealed.
    /// - Returns: Whether all of them have ended.
    private func drain(_ limit: Duration) async -> Bool {
        let clock = env.runtime.clock
        let deadline = clock.now.advanced(by: limit)
        let calls = env.lanes.holders
        while env.lanes.isBusy(with: calls) {
            guard clock.now < deadline else { return false }
            await clock.wait(.milliseconds(2))
        }
        return true
    }

    private func refusal(_ code: StorageError.Code, _ message: String) -> StorageError {
        StorageError(code, key: source.identifier, "\(message) No key was destroyed.")
    }

    private func calling<R: Sendable>(_ body: () async throws(BackendError) -> R) async throws -> R {
        try await translatingErrors(key: source.identifier) { () throws(BackendError) in try await body() }
    }
}
