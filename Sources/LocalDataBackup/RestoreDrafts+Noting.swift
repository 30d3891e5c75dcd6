import BackendContract
import BackendRuntime
import Foundation
import LocalData

extension RestoreDrafts {
    /// Notes drafts that are about to be made; durable when it returns.
    func note(_ drafts: [String]) throws(BackendError) {
        let path = Self.path(directories)
        let portable = drafts.map(PortablePaths(directories, runtime.files).portable)
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(portable)) } catch { throw BackendError(.failed, "The drafts could not be noted.") }
        let temporary = ".restore-drafts.json.tmp"
        do throws(FileError) {
            try runtime.files.createDirectory(directories.data)
            // What a process left that was killed: the lock is held.
            try runtime.files.remove("\(directories.data)/\(temporary)")
        } catch { throw error.backendError() }
        do throws(DurableReplaceError) {
            try runtime.files.replaceDurably(path, with: bytes, temporaryName: temporary)
        } catch { throw error.error.backendError() }
    }

    /// Forgets the drafts: they have their places.
    func forget() throws(BackendError) {
        do throws(FileError) { try runtime.files.remove(Self.path(directories)) } catch { throw error.backendError(outcome: .unknown) }
    }
}
