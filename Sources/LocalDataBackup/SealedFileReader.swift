import BackendContract
import BackendRuntime
import Sealing

/// Reads a sealed file (a backup or an export) chunk by chunk. It returns only authenticated bytes.
final class SealedFileReader {
    let header: StreamHeader
    private let path: String
    private let runtime: Runtime
    private let lane: any Lane
    private let size: Int64
    private var stream: SealedStream
    private var offset: Int64
    private var buffer: ArraySlice<UInt8> = []

    /// Opens the file and verifies its header.
    /// - Throws: `BackendError`: `encryptionKeyMismatch`, `corrupted`, `unsupported`; `notFound` where there is no file.
    init(
        _ path: String, opening opener: StreamOpener, for purpose: StreamHeader.Purpose, runtime: Runtime
    ) async throws(BackendError) {
        (self.path, self.runtime) = (path, runtime)
        let lane = runtime.makeLane("sealed-file")
        self.lane = lane
        let files = runtime.files
        let (size, header) = try await Self.run(lane, runtime) { () throws(BackendError) in
            let (status, start) = try onDisk { () throws(FileError) in
                (try files.status(path), try files.read(path, from: 0, count: StreamHeader.maximumLength))
            }
            guard let status, let start else { throw BackendError(.failed, "There is no file at \(path). Name the right one.") }
            return (status.size, try StreamHeader(start, opening: opener, for: purpose))
        }
        (self.size, self.header) = (size, header)
        stream = SealedStream(header)
        offset = Int64(header.bytes.count)
        try await fill()
    }

    /// Whether the whole file was read. The last chunk proves that the file is complete.
    var isAtEnd: Bool { buffer.isEmpty && offset >= size }

    /// Reads the given number of bytes.
    func read(_ count: Int) async throws(BackendError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let part = buffer.prefix(count - bytes.count)
            bytes += part
            buffer = buffer.dropFirst(part.count)
            if bytes.count == count { return bytes }
            guard offset < size else { throw Self.malformed }
            try await fill()
        }
    }

    /// The remaining bytes of the current chunk, or the next chunk; nil at the end.
    func next() async throws(BackendError) -> [UInt8]? {
        if buffer.isEmpty {
            guard offset < size else { return nil }
            try await fill()
        }
        defer { buffer = [] }
        return Array(buffer)
    }

    /// Reads the next entry of a backup: its type and its content.
    func entry() async throws(BackendError) -> (BackupEntry, [UInt8]) {
        let head = try await read(5)
        let count = head[1...].reduce(0) { $0 << 8 | Int($1) }
        guard let entry = BackupEntry(rawValue: head[0]), count <= BackupPart.maximum else { throw Self.malformed }
        return (entry, try await read(count))
    }

    private func fill() async throws(BackendError) {
        let (path, files, offset) = (path, runtime.files, offset)
        let isLast = offset + Int64(SealedStream.sealedLength) >= size
        let sealed = try await Self.run(lane, runtime) { () throws(BackendError) in
            try onDisk { () throws(FileError) in try files.read(path, from: offset, count: SealedStream.sealedLength) ?? [] }
        }
        self.offset = offset + Int64(max(sealed.count, 1))
        buffer = try stream.open(sealed, isLast: isLast)[...]
    }

    private static func run<R: Sendable>(
        _ lane: any Lane, _ runtime: Runtime, _ work: @escaping @Sendable () throws(BackendError) -> R
    ) async throws(BackendError) -> R {
        // Deriving a key from a passphrase can take a second, and a slow disk can take longer.
        try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: .seconds(60)), isMutation: false) {
            (_) throws(BackendError) in try work()
        }
    }

    static let malformed = BackendError(.corrupted, "The file is not as this library writes it. Use another copy; nothing was changed.")
}
