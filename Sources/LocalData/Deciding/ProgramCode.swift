import BackendContract
import Synchronization

/// Runs code of the program: migrations, and the conditions and functions of migrations.
final class ProgramCode: Sendable {
    /// The effects of a rehearsal; nil where changes reach the stores.
    let rehearsal: RehearsalNotes?
    private let history: History
    private let held = Mutex(WeakObject())

    init(_ history: History, rehearsal: RehearsalNotes? = nil) { (self.history, self.rehearsal) = (history, rehearsal) }

    /// Returns the parameters for the migrations of a key.
    /// - Parameter outer: The run that reads the key as a source: its facts count for a key that is in no catalog itself.
    func run(_ reason: MigrationReason, _ slot: PhysicalSlot, within outer: MigrationRun? = nil) async -> MigrationRun {
        let receiver = outer?.receiver ?? self.receiver
        guard let catalog = history.registry.catalog(of: slot) else {
            return MigrationRun(reason: reason, previousVersion: outer?.previousVersion ?? .success(nil), receiver: receiver)
        }
        let version = await history.ledger.applicationVersion(of: catalog).mapError { StorageError.from($0, key: "ledger") }
        return MigrationRun(reason: reason, previousVersion: version, receiver: receiver)
    }

    /// The object that custom migrations receive, while it exists: there is no strong reference to it here.
    var receiver: (any AnyObject & Sendable)? { held.withLock(\.object) }

    /// Sets the object that custom migrations receive.
    func serve(_ receiver: any AnyObject & Sendable) { held.withLock { $0.object = receiver } }

    /// Lets the library's own errors through and wraps what the program's own code threw.
    func wrappingUserErrors<R>(_ name: String, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError { throw error } catch let error as CancellationError {
            throw error
        } catch {
            throw StorageError(
                StorageError.migrationFailed, key: name,
                "The migration's own code failed (\(String(describing: type(of: error)))). The older value is where it was.",
                underlying: error)
        }
    }

    /// Fails in a rehearsal, before code of the program runs. A rehearsal cannot undo the effects of that code.
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

/// Effects of a rehearsal that a repeated read checks.
final class RehearsalNotes: Sendable {
    private let references = Atomic(false)

    /// Whether a record was stored because a value refers to it. Outside of the rehearsal the reference leads to nothing.
    var hasStoredReferences: Bool { references.load(ordering: .sequentiallyConsistent) }

    /// Notes that a record was stored because a value refers to it.
    func storesReference() { references.store(true, ordering: .sequentiallyConsistent) }
}
