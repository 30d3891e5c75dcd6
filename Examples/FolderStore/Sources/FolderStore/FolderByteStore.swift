public import BackendContract
public import Foundation

/// A byte store in a folder: one file for each name. These functions are enough; ``ByteStoreBackend`` adds the rest:
///
/// ```swift
/// let backend = ByteStoreBackend(FolderByteStore(URL(filePath: "/var/lib/weather")))
/// ```
///
/// The sample is short, not complete: Foundation replaces a file in one step but does not flush the folder (so it claims `untilPowerLoss`,
/// not `durable`), and it blocks its caller (a real store works on a lane of its own).
public struct FolderByteStore: ByteStore {
    private let folder: URL

    /// Creates a store; its folder is created by the first write.
    public init(_ folder: URL) { self.folder = folder.standardizedFileURL.resolvingSymlinksInPath() }

    /// The folder, by its path: two stores on one folder are the same physical store.
    public var identity: BackendIdentity { BackendIdentity(kind: "folder", store: folder.path) }

    /// The claims of the store; it must keep all of them.
    public var capabilities: BackendCapabilities { BackendCapabilities(durability: .untilPowerLoss, protection: .plain) }

    /// The bytes under a name; nil only when the file is known not to exist.
    public func read(_ name: String) async throws(BackendError) -> [UInt8]? {
        let file = try file(name)
        do { return try [UInt8](Data(contentsOf: file)) } catch CocoaError.fileReadNoSuchFile { return nil } catch { throw failure(error) }
    }

    /// Stores bytes: a temporary file beside the old one, then a rename over it, so that a reader sees the old bytes or the new ones.
    public func write(_ bytes: [UInt8], _ name: String) async throws(BackendError) {
        let file = try file(name)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(bytes).write(to: file, options: .atomic)
        } catch { throw failure(error, outcome: .unknown) }
    }

    /// Removes a file.
    public func delete(_ name: String) async throws(BackendError) {
        let file = try file(name)
        do { try FileManager.default.removeItem(at: file) } catch CocoaError.fileNoSuchFile { return } catch {
            throw failure(error, outcome: .unknown)
        }
    }

    /// The names of all files; no folder means no names.
    public func list() async throws(BackendError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path)
                .filter { $0.hasSuffix(Self.ending) }.compactMap { $0.dropLast(Self.ending.count).removingPercentEncoding }
        } catch CocoaError.fileReadNoSuchFile { return [] } catch { throw failure(error) }
    }

    /// The file of a name. Everything but a-z, 0-9 and the dot is escaped, so that no name leaves the folder and no two names share a file.
    private func file(_ name: String) throws(BackendError) -> URL {
        let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789.")
        guard let escaped = name.addingPercentEncoding(withAllowedCharacters: plain), escaped.utf8.count + Self.ending.count <= 255 else {
            throw BackendError(.invalidName, "The name is too long for a file in this folder.")
        }
        return folder.appending(path: escaped + Self.ending, directoryHint: .notDirectory)
    }

    private func failure(_ error: any Error, outcome: MutationOutcome = .notApplied) -> BackendError {
        BackendError(.failed, "A file in \(folder.path) could not be used: \(error.localizedDescription)", outcome: outcome)
    }

    private static let ending = ".record"
}
