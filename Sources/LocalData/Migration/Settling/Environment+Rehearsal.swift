import BackendContract
import BackendRuntime
import Sealing
import Synchronization

/// Who runs migrations, with what it works with.
protocol EnvironmentHost: MigrationHost {
    var env: Environment { get }

    /// A host over the same stores that records instead of writing: what is done there changes nothing here.
    func rehearsal() -> any EnvironmentHost
}

/// Effects of a rehearsal that a repeated read checks.
final class RehearsalNotes: Sendable {
    private let references = Atomic(false)

    /// Whether a record was stored because a value refers to it. Outside of the rehearsal the reference leads to nothing.
    var hasStoredReferences: Bool { references.load(ordering: .sequentiallyConsistent) }

    /// Notes that a record was stored because a value refers to it.
    func storesReference() { references.store(true, ordering: .sequentiallyConsistent) }
}

extension StorageError {
    /// Whether a store could not be written and was not changed, though it may be readable: it is full or read-only. After an unknown outcome, a read finds out what was
    /// written.
    var meansUnwritable: Bool { outcome != .applied && (code == StorageError.noSpace || code == StorageError.accessDenied) }
}

extension Environment {
    /// What the parts of the protocol work with when they rehearse: the same keys, stores and registered entries, in which every change stays in memory. The ledger and the
    /// quarantine are rehearsed too, and no sealing key is made. Lanes and flights are its own, so that it waits for nobody.
    /// - Parameter stores: What places are made of here.
    func rehearsal(over stores: any StoreProvider) -> (env: Environment, stores: RehearsedStores) {
        let rehearsed = RehearsedStores(over: routes, stores, coder.seals.keys)
        let rehearse: @Sendable (any StorageBackend) -> any StorageBackend = { rehearsed.rehearse($0) }
        let sources: @Sendable (KeySourceReference) throws -> any KeySource = { try rehearsed.keySource($0) }
        let ledger = ledger.rehearsed(rehearse)
        let keys = SealingKeys(pins: ledger.keyPins, randomBytes: runtime.randomBytes)
        let seals = coder.seals.rehearsed(keys: keys, sources: sources)
        let routes = RouteTable(rehearsing: routes, in: rehearsed, judge: seals)
        let coder = RecordCoder(seals: seals, runtime: runtime)
        let env = Environment(
            routes: routes, coder: coder, ledger: ledger, quarantine: quarantine.rehearsed(seals, rehearse),
            witnesses: witnesses.rehearsed(), registry: KeyRegistry(copying: registry, leading: routes), runtime: runtime,
            applicationVersion: applicationVersion, pageSize: pageSize, events: events, rehearsal: RehearsalNotes())
        return (env, rehearsed)
    }

    /// Repeats a read, whose migration could not be written, in a rehearsal: the answer is the value that would be there.
    /// - Parameters:
    ///   - name: What is read, for operators.
    ///   - error: The error of the read.
    ///   - read: The read, in the rehearsal.
    /// - Throws: The original error if it has another cause, if the rehearsal ends with `cannotTell`, or if the value refers to records that were not
    ///   stored. Otherwise, the error of the rehearsed read.
    func rehearsing<Answer>(
        _ name: String, after error: any Error, _ host: any MigrationHost, _ read: (any EnvironmentHost) async throws -> Answer
    ) async throws -> Answer {
        guard rehearsal == nil, let host = host as? any EnvironmentHost, (error as? StorageError)?.meansUnwritable == true else {
            throw error
        }
        let rehearsal = host.rehearsal()
        let answer: Answer
        do { answer = try await read(rehearsal) } catch StorageError.cannotTell { throw error }
        if rehearsal.env.rehearsal?.hasStoredReferences == true { throw error }
        noteUnwritten(error)
        return answer
    }

    /// Reports that a value was read which could not be migrated.
    private func noteUnwritten(_ error: any Error) {
        let code = (error as? StorageError)?.code ?? StorageError.migrationFailed
        events.send(
            .readUnmigrated(code),
            "A value was read in a legacy location, or in an earlier version. It could not be written, and stays pending.",
            ["code": "\(code.name)"])
    }

    /// Fails in a rehearsal, before code of the program's own is run whose effects it could not take back.
    /// - Parameter what: The code, in words.
    /// - Throws: ``StorageError`` with `cannotTell`.
    func requireReal(_ what: String, _ name: String) throws {
        guard rehearsal != nil else { return }
        throw StorageError(
            StorageError.cannotTell, key: name,
            "\(what) would run. It is the program's own code, whose effects cannot be taken back, so it was not tried; nothing was changed."
        )
    }
}
