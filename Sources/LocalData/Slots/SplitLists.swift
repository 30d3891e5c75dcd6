import Synchronization

/// Makes sure that a record can be found in its slot: a list that holds all records of its collection is taken apart first.
///
/// References lead from any value to the records of any collection, so the code that writes referenced records needs the code of the room
/// Records, which uses it. That room sets the code here once.
final class SplitLists: Sendable {
    private let split = Mutex<(@Sendable (any TypedCollection) async throws -> Void)?>(nil)

    /// Sets the code that takes apart the lists that hold records of a collection. It must not keep the router's objects.
    func use(_ split: @escaping @Sendable (any TypedCollection) async throws -> Void) { self.split.withLock { $0 = split } }

    /// Takes apart the lists that hold the record of a key.
    func prepare(_ key: any TypedKey) async throws {
        guard let collection = key.membership?.gathered else { return }
        try await split.withLock(\.self)?(collection)
    }
}
