public import BackendContract
public import BackendRuntime

/// A key in a file that only its owner can read.
///
/// The file holds ``SealingKey/text`` and a newline, with permissions 0600; one that others can read or write is refused.
public struct KeyFileSource: KeySource {
    private let path: String
    private let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration

    /// The path, in words.
    public let identifier: String
    /// The file's name.
    public var pin: String { "key file \(lastComponent(of: path))" }
    /// `sealed`: the key lies on a disk, readable by whoever reads the person's files.
    public var protection: ProtectionLevel { .sealed }

    /// Names the file; nothing is opened yet.
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - deadline: How long a call may take.
    ///   - runtime: The machine.
    public init(path: String, deadline: Duration, runtime: Runtime) {
        self.path = path
        self.runtime = runtime
        self.deadline = deadline
        lane = runtime.makeLane("key-file")
        identifier = "key file \(path)"
    }

    /// Reads the key; nil when there is no file.
    public func load() async throws(BackendError) -> SealingKey? {
        try await onLane { () throws(BackendError) in try read() }
    }

    /// Makes the file, durably and whole, if there is none; returns the key that stands in it then.
    public func create(_ key: SealingKey) async throws(BackendError) -> SealingKey {
        let temporary = ".\(lastComponent(of: path)).\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
        return try await onLane { () throws(BackendError) in
            let directory = parentDirectory(of: path)
            do throws(FileError) {
                try runtime.files.createDirectory(directory)
                let draft = directory + "/" + temporary
                try runtime.files.create(draft, Array((key.text + "\n").utf8))
                defer {
                    do throws(FileError) { try runtime.files.remove(draft) } catch {
                        // The draft is unused; the key stands.
                    }
                }
                try runtime.files.synchronizeFile(draft)
                // A second name for the draft: it fails if another process has made a key meanwhile, and is never half a file.
                do throws(FileError) { try runtime.files.link(draft, to: path) } catch {
                    guard let existing = try? read() else { throw error }
                    try runtime.files.synchronizeDirectory(directory)
                    return existing
                }
                try runtime.files.synchronizeDirectory(directory)
            } catch {
                throw error.backendError()
            }
            return key
        }
    }

    private func read() throws(BackendError) -> SealingKey? {
        let contents: FileContents?
        do throws(FileError) { contents = try runtime.files.read(path) } catch { throw error.backendError() }
        guard let contents else { return nil }
        guard contents.status.permissions & 0o077 == 0 else {
            throw BackendError(
                .accessDenied, "The key file \(path) can be used by others. Make it private (chmod 600) and consider the key known.")
        }
        return try SealingKey(text: String(decoding: contents.bytes, as: UTF8.self))
    }

    private func onLane<R: Sendable>(_ work: @escaping @Sendable () throws(BackendError) -> R) async throws(BackendError) -> R {
        try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: true) {
            (_) throws(BackendError) in
            try work()
        }
    }
}
