public import BackendContract
public import Foundation

/// A byte store, which stores bytes under names: it keeps one file for each name in a folder. ``ByteStoreBackend``
/// turns a byte store into a backend, the code with which LocalData reads and writes a store:
///
/// ```swift
/// let backend = ByteStoreBackend(FolderByteStore(URL(filePath: "/var/lib/weather")))
/// ```
///
/// The sample is short, not complete. Foundation replaces a file atomically but does not flush the folder, so a power
/// cut can undo a change. The store therefore declares its durability as `untilPowerLoss`, not as `durable`. It also
/// blocks its caller; a real store would do its work on a separate serial queue.
public struct FolderByteStore: ByteStore {
    private let folder: URL

    /// Creates a store. The first write creates its folder.
    public init(_ folder: URL) { self.folder = folder.standardizedFileURL.resolvingSymlinksInPath() }

    /// The identity of the store: the path of its folder. Two stores with one folder are the same physical store.
    public var identity: BackendIdentity { BackendIdentity(kind: "folder", store: folder.path) }

    /// The capabilities that the store guarantees. The conformance tests check them.
    public var capabilities: BackendCapabilities { BackendCapabilities(durability: .untilPowerLoss, protection: .plain) }

    /// Reads the bytes of a name. It returns nil only if the file does not exist.
    public func read(_ name: String) async throws(BackendError) -> [UInt8]? {
        let file = try file(name)
        do { return try [UInt8](Data(contentsOf: file)) } catch CocoaError.fileReadNoSuchFile { return nil } catch { throw failure(error) }
    }

    /// Stores bytes. It writes a temporary file and renames it over the old one, so that a reader sees either the old
    /// or the new bytes.
    public func write(_ bytes: [UInt8], _ name: String) async throws(BackendError) {
        let file = try file(name)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(bytes).write(to: file, options: .atomic)
        } catch { throw failure(error, outcome: .unknown) }
    }

    /// Removes the file of a name. If the file does not exist, this does nothing.
    public func delete(_ name: String) async throws(BackendError) {
        let file = try file(name)
        do { try FileManager.default.removeItem(at: file) } catch CocoaError.fileNoSuchFile { return } catch {
            throw failure(error, outcome: .unknown)
        }
    }

    /// Lists the names of all files. If the folder does not exist, there are no names.
    public func list() async throws(BackendError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path)
                .filter { $0.hasSuffix(Self.ending) }.compactMap { $0.dropLast(Self.ending.count).removingPercentEncoding }
        } catch CocoaError.fileReadNoSuchFile { return [] } catch { throw failure(error) }
    }

    /// Returns the file of a name. All characters except a-z, 0-9 and the dot are escaped, so that no file is outside
    /// of the folder and no two names have the same file.
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
