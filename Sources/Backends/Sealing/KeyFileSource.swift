package import BackendContract
package import BackendRuntime

/// A key in a file that only its owner can read.
///
/// The file holds ``SealingKey/text`` and a newline, for each of its keys, with permissions 0600; one that others can read or write is refused, and one in a folder
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

    /// Reads the keys; nil when there is no file.
    package func load() async throws(BackendError) -> SourceKeys? {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read { keys, _ in keys } }
    }

    /// Makes the file, durably and whole, if there is none; returns the keys that it holds then.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        let draftName = files.draftName(for: path)
        return try await files.onLane(isMutation: true) { () throws(BackendError) in
            var bytes = keys.textBytes(ending: "\n")
            defer { wipe(&bytes) }
            if try files.make(path, bytes, draftName: draftName) { return keys }
            guard let existing = try read({ keys, _ in keys }) else {
                throw BackendError(.failed, "The key file \(path) was removed while it was read. Try again.")
            }
            return existing
        }
    }

    /// Flushes the folder: the file itself was whole before it got its name.
    package func synchronize() async throws(BackendError) {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try files.synchronizeName(of: path) }
    }

    /// Replaces the file in one step; the text of the keys may be written otherwise than this library writes it.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        try await files.onLane(isMutation: true) { () throws(BackendError) in
            var bytes = new.textBytes(ending: "\n")
            defer { wipe(&bytes) }
            let isReplaced: Void? = try read { (found, text) throws(BackendError) in
                guard found.holdsSame(as: old) else { throw replacedMeanwhile }
                try files.replace(path, text, with: bytes)
            }
            guard isReplaced != nil else { throw replacedMeanwhile }
        }
    }

    /// Lends the keys and the bytes that they were read from, which are overwritten afterwards; nil when there is no file.
    private func read<R>(_ body: (SourceKeys, [UInt8]) throws(BackendError) -> R) throws(BackendError) -> R? {
        guard var contents = try files.readPrivate(path, "key file", ifExposed: "the key known") else { return nil }
        defer { wipe(&contents.bytes) }
        return try body(try SourceKeys(textBytes: contents.bytes), contents.bytes)
    }
}
