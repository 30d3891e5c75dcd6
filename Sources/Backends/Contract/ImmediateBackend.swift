/// A store that can often read a slot synchronously on the caller's thread.
///
/// Such a read waits for no other thread or process. The only disk access is a query of a file's status.
package protocol ImmediateBackend: StorageBackend {
    /// Returns the result that ``StorageBackend/read(_:_:)`` would return now for the freshness `validated`.
    /// - Parameter address: A valid address.
    /// - Returns: Nil if the slot requires a call of `read`, which may wait.
    func immediateProbe(of address: StorageAddress) -> StorageProbe?
}
