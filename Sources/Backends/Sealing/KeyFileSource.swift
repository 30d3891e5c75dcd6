package import BackendContract
package import BackendRuntime

/// A source of sealing keys in a file that only its owner can read.
///
/// The file contains one line for each key, in the format of ``SealingKey/text``, and has permissions 0600. A file that
/// other users can read or write is refused with `accessDenied`. A file in a folder where other users could replace it
/// is refused with `untrusted`.
package struct KeyFileSource: KeySource {
    private let path: String
    private let files: KeyFiles

    /// The name of the source for messages: it contains the path.
    package let identifier: String
    /// The short name of the source: `key file` and the name of the file without its folder.
    package var pin: String { "key file \(lastComponent(of: path))" }
    /// `sealed`: the key is on a disk. Anyone who can read the user's files can read it.
    package var protection: ProtectionLevel { .sealed }

    /// Creates a source for a file. No file is opened yet.
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - deadline: The time limit for each call.
    ///   - runtime: The clock, the file system and the other services of the machine.
    package init(path: String, deadline: Duration, runtime: Runtime) {
        self.path = path
        files = KeyFiles("key-file", deadline: deadline, runtime: runtime)
        identifier = "key file \(path)"
    }

    /// Reads the keys. Returns nil if there is no file.
    package func load() async throws(BackendError) -> SourceKeys? {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read { keys, _ in keys } }
    }

    /// Creates the file, durably and atomically, unless it exists. Returns the keys in the file.
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

    /// Flushes the folder, which makes the name of the file durable. The content was flushed before the file got its
    /// name.
    package func synchronize() async throws(BackendError) { try await files.synchronizeName(of: path) }

    /// Replaces the file atomically, if it still contains the expected keys. The call compares the keys and not the
    /// text of the file, because a person may have edited for example the blanks.
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

    /// Reads the file and passes its keys and bytes to a closure. The bytes are overwritten afterwards. Returns nil if
    /// there is no file.
    private func read<R>(_ body: (SourceKeys, [UInt8]) throws(BackendError) -> R) throws(BackendError) -> R? {
        guard var contents = try files.readPrivate(path, "key file", ifExposed: "the key known") else { return nil }
        defer { wipe(&contents.bytes) }
        return try body(try SourceKeys(textBytes: contents.bytes), contents.bytes)
    }
}
