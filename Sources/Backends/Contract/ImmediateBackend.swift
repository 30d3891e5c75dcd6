/// A store that can often read a slot (the location of one value) synchronously, on the caller's thread.
///
/// Such a read waits for no other thread or process. The only disk access is a query of a file's status.
package protocol ImmediateBackend: StorageBackend {
    /// Returns the result that ``StorageBackend/read(_:_:)`` would return now, with the freshness
    /// ``ReadFreshness/validated``.
    /// - Parameter address: A valid address.
    /// - Returns: Nil if the result is not known without waiting. Call `read` in that case.
    func immediateProbe(of address: StorageAddress) -> StorageProbe?

    /// Returns a number that the store has only as long as its content is unchanged. It changes before a change is
    /// acknowledged. So a value that was read after this call is current while the number is the same.
    /// - Returns: Nil if the number is not known without waiting, or if the store has none.
    func immediateVersion() -> UInt64?
}

extension ImmediateBackend {
    package func immediateVersion() -> UInt64? { nil }
}
