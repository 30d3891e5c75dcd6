import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Sealing

/// Writes a sealed file: as a draft beside its place, which it gets when it is whole and flushed. A file that has the name is never replaced.
final class SealedFileWriter {
    private let path: String
    private let draft: String
    private let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration
    private var stream: SealedStream
    private var buffer: [UInt8] = []

    /// Begins the draft.
    /// - Throws: `BackendError`: `failed` where there is a file already.
    init(_ path: String, _ header: StreamHeader, _ configuration: StorageConfiguration) async throws(BackendError) {
        runtime = configuration.runtime
        deadline = configuration.deadlines.files
        self.path = path
        let prefix = ".\(lastComponent(of: path)).localdata-"
        draft = "\(parentDirectory(of: path))/\(prefix)\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
        lane = runtime.makeLane("sealed-file")
        stream = SealedStream(header)
        buffer.reserveCapacity(2 * SealedStream.chunkLength)
        let draft = draft
        try await onLane { (files, _) throws(FileError) in
            guard try files.status(path) == nil else { throw Self.taken(path) }
            // What a process left that was killed.
            for name in try files.list(parentDirectory(of: path)) ?? [] where name.hasPrefix(prefix) && name.hasSuffix(".tmp") {
                try files.remove("\(parentDirectory(of: path))/\(name)")
            }
            try files.create(draft, header.bytes)
        }
    }

    private static func taken(_ path: String) -> FileError { FileError(number: EEXIST, operation: "create", path: path) }

    /// Appends an entry.
    func write(_ entry: BackupEntry, _ content: [UInt8]) async throws(BackendError) {
        buffer.append(entry.rawValue)
        withUnsafeBytes(of: UInt32(content.count).bigEndian) { buffer.append(contentsOf: $0) }
        try await write(content)
    }

    /// Appends bytes. They are in memory until there is a chunk of them.
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

    /// Ends the file, and gives it its name; durable when it returns.
    /// - Throws: ``BackendError``; the outcome is `unknown` once the file has its name, because a power cut may still take the name away.
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
            // The draft is a second name of the whole file. The next file of this name removes what stays.
            try? files.remove(draft)
            try files.synchronizeDirectory(parentDirectory(of: path))
        }
    }

    /// Removes the draft.
    func discard() async {
        wipe(&buffer)
        let draft = draft
        // What cannot be removed is sealed, and the next file of this name removes it.
        try? await onLane { (files, _) throws(FileError) in try files.remove(draft) }
    }

    /// - Parameter work: Changes files; it sets the outcome that a failure has from then on.
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
    /// Makes the header of a new file, off the cooperative pool: a derivation takes as long as the passphrase costs.
    static func make(
        _ purpose: Purpose, for recipients: [StreamRecipient], _ runtime: Runtime
    ) async throws(BackendError) -> StreamHeader {
        try await runtime.makeLane("sealed-file.key").run(
            clock: runtime.clock, deadline: runtime.clock.now.advanced(by: .seconds(600)), isMutation: false
        ) { (_) throws(BackendError) in try StreamHeader(purpose, for: recipients, runtime.randomBytes) }
    }
}
