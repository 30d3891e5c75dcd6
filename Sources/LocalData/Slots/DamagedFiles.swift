import BackendContract

/// Access to the copies of damaged files, which stores keep beside the quarantine. A copy is a whole file, not a record of the quarantine.
struct DamagedFiles: Sendable {
    /// A copy of a damaged file.
    struct Entry: Sendable {
        let id: String
        /// The location of the damaged file, in words.
        let place: String
        /// The time when the copy was made, in seconds since 1970.
        let since: Double
    }

    /// Returns all copies.
    var list: @Sendable () async throws(BackendError) -> [Entry]
    /// Returns the bytes of a copy; nil if there is no copy with this id.
    var content: @Sendable (_ id: String) async throws(BackendError) -> [UInt8]?
    /// Removes a copy durably, and returns whether there was a copy with this id.
    var remove: @Sendable (_ id: String) async throws(BackendError) -> Bool

    /// Access for stores that are not on a disk: there are no copies.
    static let none = DamagedFiles(
        list: { () throws(BackendError) in [] }, content: { (_) throws(BackendError) in nil }, remove: { (_) throws(BackendError) in false }
    )
}
