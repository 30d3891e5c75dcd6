import BackendContract
import BackendRuntime
import Synchronization

/// How a router runs the calls of the program.
extension StorageRouter {
    /// Runs work, and replaces a `CancellationError` by a ``StorageError`` with the code `cancelled`.
    /// Reason: "A cancelled call throws one error, with an outcome" in Docs/Decisions/ToolAndErrors.md.
    /// - Parameter isStepwise: Whether the work may have completed some of its steps.
    package static func cancellable<R>(_ name: String, isStepwise: Bool = false, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch is CancellationError { throw StorageError.cancelled(name, isStepwise: isStepwise) }
    }

    /// Runs a call. It shows the call to the instruments, remembers a failure of the store, and handles a cancellation
    /// as ``cancellable(_:isStepwise:_:)`` does.
    /// - Parameters:
    ///   - operation: The name of the call: see ``StorageOperation/name``.
    ///   - domain: The domain that the call uses; nil for several domains.
    ///   - name: The name of the key or collection, for errors.
    ///   - isStepwise: Whether the call may have completed some of its steps.
    package nonisolated func call<R>(
        _ operation: String, on domain: StorageDomain?, named name: @autoclosure () -> String, isStepwise: Bool = false,
        _ body: () async throws -> R
    ) async throws -> R {
        do {
            if configuration.instruments.isEmpty { return try await completingForgetting(body) }
            return try await Self.observe(StorageOperation(name: operation, domain: domain?.kind), by: configuration.instruments[...]) {
                try await completingForgetting(body)
            }
        } catch is CancellationError {
            throw StorageError.cancelled(name(), isStepwise: isStepwise)
        } catch let error as StorageError {
            if let domain { failures.note(error.code, of: domain, at: configuration.runtime.clock.wallSeconds) }
            throw error
        }
    }

    /// Runs work. If it finds stores that a killed process was to forget, completes that and runs the work again.
    nonisolated func completingForgetting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError where error.isUnfinishedForgetting {
            try await Forgetter(engine: engine, configuration: configuration).resume()
            return try await body()
        }
    }

    private static func observe<R>(
        _ operation: StorageOperation, by instruments: ArraySlice<any StorageInstrument>, _ body: () async throws -> R
    ) async throws -> R {
        guard let first = instruments.first else { return try await body() }
        return try await first.observe(operation) { try await observe(operation, by: instruments.dropFirst(), body) }
    }

    /// Runs a call that uses one key: see ``call(_:on:named:isStepwise:_:)``.
    nonisolated func call<Value, R>(
        _ operation: String, _ key: StorageKey<Value>, isStepwise: Bool = false, _ body: () async throws -> R
    ) async throws -> R {
        try await call(operation, on: key.domain, named: key.name, isStepwise: isStepwise, body)
    }

    /// Runs a call that uses one collection: see ``call(_:on:named:isStepwise:_:)``.
    nonisolated func call<Record, R>(
        _ operation: String, _ collection: StorageCollection<Record>, isStepwise: Bool = false, _ body: () async throws -> R
    ) async throws -> R {
        try await call(operation, on: collection.domain, named: collection.name, isStepwise: isStepwise, body)
    }

    /// Runs a call that uses one domain: see ``call(_:on:named:isStepwise:_:)``.
    package nonisolated func call<R>(
        _ operation: String, _ domain: StorageDomain, isStepwise: Bool = false, _ body: () async throws -> R
    ) async throws -> R {
        try await call(operation, on: domain, named: "\(domain)", isStepwise: isStepwise, body)
    }

    /// Runs a call that uses several domains: see ``call(_:on:named:isStepwise:_:)``.
    package nonisolated func call<R>(_ operation: String, isStepwise: Bool = false, _ body: () async throws -> R) async throws -> R {
        try await call(operation, on: nil, named: "storage", isStepwise: isStepwise, body)
    }

    /// The domains that the program has used, with the last failure of each store.
    package nonisolated var usedDomains: [StorageDomain: StoreFailures.Failure?] {
        var found: [StorageDomain: StoreFailures.Failure?] = failures.all.mapValues { $0 }
        for domain in slots.routes.usedDomains where found[domain] == nil { found[domain] = .some(nil) }
        return found
    }

    /// The domains of the registered keys and collections.
    package nonisolated var registeredDomains: Set<StorageDomain> { Set(history.registry.entries().map(\.route.domain)) }
}

/// The last failure of each domain's store. Errors that a correct program meets with a working store do not count.
package final class StoreFailures: Sendable {
    /// A failure and its time.
    package struct Failure: Sendable {
        package let code: StorageError.Code
        /// The wall clock, in seconds since 1970.
        package let seconds: Double
    }

    private let failures = Mutex<[StorageDomain: Failure]>([:])

    init() {}

    /// The failures since the router was created.
    var all: [StorageDomain: Failure] { failures.withLock(\.self) }

    func note(_ code: StorageError.Code, of domain: StorageDomain, at seconds: Double) {
        guard Self.concerningStores.contains(code) else { return }
        failures.withLock { $0[domain] = Failure(code: code, seconds: seconds) }
    }

    private static let concerningStores: Set<StorageError.Code> = [
        StorageError.accessDenied, StorageError.corrupted, StorageError.encryptionKeyMismatch, StorageError.encryptionKeyMissing,
        StorageError.locked, StorageError.migrationFailed, StorageError.noSpace, StorageError.promptDismissed, StorageError.residueRemains,
        StorageError.rolledBack, StorageError.timedOut, StorageError.unavailable, StorageError.undecodable, StorageError.untrusted,
        StorageError.vanished,
    ]
}
