import BackendContract
import Synchronization

/// A store that the library keeps for itself, made when it is first needed.
final class OwnStore: Sendable {
    private let make: @Sendable () throws -> any StorageBackend
    private let made = Mutex<(any StorageBackend)?>(nil)

    /// - Parameter make: Makes the backend, and opens nothing.
    init(_ make: @escaping @Sendable () throws -> any StorageBackend) { self.make = make }

    /// The store's backend.
    func backend() throws -> any StorageBackend { try made.value(orMake: make) }

    /// Closes the backend if it was made.
    func close() async { await made.withLock(\.self)?.close() }
}
