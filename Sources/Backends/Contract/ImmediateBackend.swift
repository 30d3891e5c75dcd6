/// A store that can often tell at once what a slot holds, on the caller's thread: it waits for no other thread and no process, and asks of a
/// disk no more than the status of a file.
package protocol ImmediateBackend: StorageBackend {
    /// What a validated ``StorageBackend/read(_:_:)`` of the slot would find at this moment.
    /// - Parameter address: A valid address.
    /// - Returns: Nil where only `read` can tell, which may wait.
    func immediateProbe(of address: StorageAddress) -> StorageProbe?
}
