import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Sealing

/// Writes a sealed file (a backup or an export) as a draft in the same folder. The draft gets its final name after it
/// is complete and flushed. An existing file is never replaced.
final class SealedFileWriter {
    private let path: String
    private let draft: String
    private let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration
    private var stream: SealedStream
    private var buffer: [UInt8] = []

    /// Creates the draft.
    /// - Throws: `BackendError`: `failed` if a file exists at the path.
    init(_ path: String, _ header: StreamHeader, _ configuration: StorageConfiguration) async throws(BackendError) {
        runtime = configuration.runtime
        deadline = configuration.deadlines.files
        self.path = path
        let prefix = ".\(lastComponent(of: path)).localdata-"
        draft = "\(parentDirectory(of: path))/\(prefix)\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
        lane = runtime.makeLane("sealed-file")
        stream = SealedStream(header)
        buffer.reserveCapacity(2 * SealedStream.chunkLength)
        let (draft, now) = (draft, runtime.clock.wallSeconds)
        try await onLane { (files, _) throws(FileError) in
            guard try files.status(path) == nil else { throw Self.taken(path) }
            // Remove the drafts of processes that were killed: those for this name, and old ones for any name.
            for name in try files.list(parentDirectory(of: path)) ?? [] where name.hasPrefix(".") && name.hasSuffix(".tmp") {
                let left = "\(parentDirectory(of: path))/\(name)"
                if name.hasPrefix(prefix) || Self.isOldDraft(left, files, now: now) { try files.remove(left) }
            }
            do throws(FileError) { try files.create(draft, header.bytes) } catch {
                // On a full disk, the file exists although its content could not be written.
                if !error.isNameTaken { try? files.remove(draft) }
                throw error
            }
        }
    }

    /// Returns whether a file is the draft of a sealed file, and was not changed for a day. A file that cannot be read stays.
    private static func isOldDraft(_ path: String, _ files: any FileSystem, now: Double) -> Bool {
        let stem = lastComponent(of: path).dropLast(".tmp".count)
        guard bytes(ofHexadecimal: stem.suffix(16))?.count == 8, stem.dropLast(16).hasSuffix(".localdata-"),
            let status = try? files.status(path), status.isRegular, now - Double(status.modified) / 1e9 > 86_400
        else { return false }
        return (try? files.read(path, from: 0, count: StreamHeader.magic.count)) == StreamHeader.magic
    }

    private static func taken(_ path: String) -> FileError { FileError(number: EEXIST, operation: "create", path: path) }

    /// Appends an entry.
    func write(_ entry: BackupEntry, _ content: [UInt8]) async throws(BackendError) {
        buffer.append(entry.rawValue)
        withUnsafeBytes(of: UInt32(content.count).bigEndian) { buffer.append(contentsOf: $0) }
        try await write(content)
    }

    /// Appends bytes. They stay in memory until a whole chunk can be sealed.
    func write(_ bytes: [UInt8]) async throws(BackendError) {
        buffer += bytes
        var start = 0
        defer { buffer.removeFirst(start) }
        while buffer.count - start > SealedStream.chunkLength {
            let sealed = try stream.seal(Array(buffer[start..<start + SealedStream.chunkLength]), isLast: false)
            start += SealedStream.chunkLength
            let draft = draft
            try await onLane { (files, _) throws(FileError) in try files.append(draft, sealed) }
        }
    }

    /// Completes the file and gives it its final name; durable when this returns.
    /// - Throws: ``BackendError``. The outcome is `unknown` after the file has its name, because a power failure can still undo the new
    ///   name.
    func finish() async throws(BackendError) {
        let sealed = try stream.seal(buffer, isLast: true)
        wipe(&buffer)
        buffer = []
        let (path, draft) = (path, draft)
        try await onLane { (files, outcome) throws(FileError) in
            try files.append(draft, sealed)
            try files.synchronizeFile(draft)
            try files.link(draft, to: path)
            outcome = .unknown
            // The draft is now a second name of the complete file. If it cannot be removed, the next writer of this file removes it.
            try? files.remove(draft)
            try files.synchronizeDirectory(parentDirectory(of: path))
        }
    }

    /// Removes the draft.
    func discard() async {
        wipe(&buffer)
        let (draft, files) = (draft, runtime.files)
        // If the draft cannot be removed, its content is still sealed, and the next writer of this file removes it. The removal also
        // happens if the task is cancelled: then the wait below ends at once.
        lane.enqueue { try? files.remove(draft) }
        try? await onLane { (_, _) throws(FileError) in }
    }

    /// Runs work on files on a separate serial queue, because it would block the cooperative pool.
    /// - Parameter work: The work. It sets `outcome` to the outcome that an error reports if a later operation of the
    ///   work fails.
    private func onLane(
        _ work: @escaping @Sendable (any FileSystem, _ outcome: inout MutationOutcome) throws(FileError) -> Void
    ) async throws(BackendError) {
        let files = runtime.files
        try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: true) {
            (_) throws(BackendError) in
            var outcome = MutationOutcome.notApplied
            do throws(FileError) { try work(files, &outcome) } catch {
                if error.isNameTaken {
                    throw BackendError(.failed, "There is a file already at \(error.path). Name another one; nothing was changed.")
                }
                throw error.backendError(outcome: outcome)
            }
        }
    }
}

extension StreamHeader {
    /// Makes the header of a new file outside the cooperative pool, because deriving a key from a passphrase is slow.
    static func make(
        _ purpose: Purpose, for recipients: [StreamRecipient], _ runtime: Runtime
    ) async throws(BackendError) -> StreamHeader {
        try await runtime.onLane("sealed-file.key", within: .seconds(600)) { () throws(BackendError) in
            try StreamHeader(purpose, for: recipients, runtime.randomBytes)
        }
    }
}
