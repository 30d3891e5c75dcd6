import BackendContract

/// The copies of damaged files that stores keep beside the quarantine: whole files, which no record of the quarantine holds.
struct DamagedFiles: Sendable {
    /// A copy.
    struct Entry: Sendable {
        let id: String
        /// The file's place, in words.
        let place: String
        /// When it was made, in seconds since 1970.
        let since: Double
    }

    /// The copies.
    var list: @Sendable () async throws(BackendError) -> [Entry]
    /// The bytes of a copy; nil when there is none.
    var content: @Sendable (_ id: String) async throws(BackendError) -> [UInt8]?
    /// Removes a copy, durably; tells whether there was one.
    var remove: @Sendable (_ id: String) async throws(BackendError) -> Bool

    /// No copies, where nothing is on a disk.
    static let none = DamagedFiles(
        list: { () throws(BackendError) in [] }, content: { (_) throws(BackendError) in nil }, remove: { (_) throws(BackendError) in false }
    )
}
