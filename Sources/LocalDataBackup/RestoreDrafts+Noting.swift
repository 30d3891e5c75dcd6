import BackendContract
import BackendRuntime
import Foundation
import LocalData

extension RestoreDrafts {
    /// Records the paths of drafts, the files that a restore prepares, before they are created. The drafts can
    /// therefore be removed after a crash. The record is durable when this returns.
    func note(_ drafts: [String]) throws(BackendError) {
        let path = Self.path(directories)
        let portable = drafts.map(PortablePaths(directories, runtime.files).portable)
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(portable)) } catch { throw BackendError(.failed, "The drafts could not be noted.") }
        let temporary = ".restore-drafts.json.tmp"
        do throws(FileError) {
            try runtime.files.createDirectory(directories.data)
            // Remove the temporary file of a process that was killed. The lock is held, so no process is using it.
            try runtime.files.remove("\(directories.data)/\(temporary)")
        } catch { throw error.backendError() }
        do throws(DurableReplaceError) {
            try runtime.files.replaceDurably(path, with: bytes, temporaryName: temporary)
        } catch { throw error.error.backendError() }
    }

    /// Removes the record of the drafts, after they were renamed to their destinations.
    func forget() throws(BackendError) {
        do throws(FileError) { try runtime.files.remove(Self.path(directories)) } catch { throw error.backendError(outcome: .unknown) }
    }
}
