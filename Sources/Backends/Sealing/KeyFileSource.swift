package import BackendContract
package import BackendRuntime

/// A key in a file that only its owner can read.
///
/// The file holds ``SealingKey/text`` and a newline, with permissions 0600; one that others can read or write is refused, and one in a folder
/// where others could put another file in its place.
package struct KeyFileSource: KeySource {
    private let path: String
    private let files: KeyFiles

    /// The path, in words.
    package let identifier: String
    /// The file's name, without its folder.
    package var pin: String { "key file \(lastComponent(of: path))" }
    /// `sealed`: the key is on a disk, and can be read by anyone who can read the user's files.
    package var protection: ProtectionLevel { .sealed }

    /// Names the file; nothing is opened yet.
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - deadline: How long a call may take.
    ///   - runtime: The machine.
    package init(path: String, deadline: Duration, runtime: Runtime) {
        self.path = path
        files = KeyFiles("key-file", deadline: deadline, runtime: runtime)
        identifier = "key file \(path)"
    }

    /// Reads the key; nil when there is no file.
    package func load() async throws(BackendError) -> SealingKey? {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read() }
    }

    /// Makes the file, durably and whole, if there is none; returns the key that it holds then.
    package func create(_ key: SealingKey) async throws(BackendError) -> SealingKey {
        let draftName = files.draftName(for: path)
        return try await files.onLane(isMutation: true) { () throws(BackendError) in
            var bytes = key.textBytes(ending: "\n")
            defer { wipe(&bytes) }
            if try files.make(path, bytes, draftName: draftName) { return key }
            guard let existing = try read() else {
                throw BackendError(.failed, "The key file \(path) was removed while it was read. Try again.")
            }
            return existing
        }
    }

    /// Flushes the folder: the file itself was whole before it got its name.
    package func synchronize() async throws(BackendError) {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try files.synchronizeName(of: path) }
    }

    private func read() throws(BackendError) -> SealingKey? {
        guard var contents = try files.readPrivate(path, "key file", ifExposed: "the key known") else { return nil }
        defer { wipe(&contents.bytes) }
        return try SealingKey(textBytes: contents.bytes)
    }
}
