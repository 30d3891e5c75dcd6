import BackendContract
import BackendRuntime
import Crypto
import DefaultsBackend
import LocalData
import Synchronization

/// Reads the values of a file: a property list or a keyed archive.
final class FileImport: ImportReader {
    /// The format of the file.
    enum Form: Sendable {
        case propertyList
        case keyedArchive
    }

    /// The content of the file at one moment.
    private enum Content: Sendable {
        case values([String: NativeValue])
        /// The file is damaged. The text describes the damage.
        case damaged([UInt8], String)
        case unusable(BackendError)
    }

    /// The largest file that is read, in bytes.
    private static let largest = 64 << 20

    let location: String
    let protection = ProtectionLevel.plain
    private let form: Form
    private let runtime: Runtime
    private let deadline: Duration
    private let lane: any Lane
    private let latest = Mutex<(status: FileStatus, digest: SHA256Digest, content: Content)?>(nil)

    init(_ path: String, _ form: Form, _ configuration: StorageConfiguration) {
        (location, self.form) = (path, form)
        (runtime, deadline) = (configuration.runtime, configuration.deadlines.files)
        lane = configuration.runtime.makeLane("import")
    }

    func read(_ names: [String], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        let content: Content?
        do throws(BackendError) { content = try await self.content(freshness) } catch {
            if error.code == .timedOut || error.code == .cancelled { throw error }
            return names.map { _ in .unavailable(error) }
        }
        switch content {
        case nil: return names.map { _ in .absent }
        case .values(let values): return names.map { values.entry($0).map { Self.probe($0.value) } ?? .absent }
        case .damaged(let bytes, let how): return names.map { _ in .corrupt(StorageCorruption(bytes: bytes, revision: nil, reason: how)) }
        case .unusable(let error): return names.map { _ in .unavailable(error) }
        }
    }

    /// Returns the probe of a value. Its revision is a digest, because the file has no revisions.
    private static func probe(_ value: NativeValue) -> StorageProbe {
        let revision = StorageRevision([UInt8(ascii: "i")] + SHA256.hash(data: value.canonicalBytes))
        return .value(StorageRecord(payload: .native(value), revision: revision, isForeign: true))
    }

    func names() async throws(BackendError) -> [String] {
        switch try await content(.fresh) {
        case nil: return []
        case .values(let values): return Array(values.keys)
        case .damaged(_, let how): throw BackendError(.corrupted, "The file \(location) is damaged: \(how). Nothing was changed.")
        case .unusable(let error): throw error
        }
    }

    func status() async -> BackendStatus {
        do throws(BackendError) {
            if try await content(.validated) == nil { return .absent }
            _ = try await names()
            return .ready
        } catch { return .unavailable(error) }
    }

    // MARK: The file

    /// Returns the content of the file; nil if there is no file. The content comes from memory if the file has not changed.
    private func content(_ freshness: ReadFreshness) async throws(BackendError) -> Content? {
        try await lane.run(clock: runtime.clock, deadline: runtime.deadline(after: deadline), isMutation: false) {
            [self] (_) throws(BackendError) in
            do throws(FileError) { return try load(freshness) } catch { throw error.backendError() }
        }
    }

    private func load(_ freshness: ReadFreshness) throws(FileError) -> Content? {
        guard let status = try runtime.files.status(location) else { return nil }
        if freshness != .fresh, let latest = latest.withLock(\.self), latest.status == status { return latest.content }
        guard status.size <= Self.largest else {
            return .unusable(
                BackendError(.tooLarge, "The file \(location) has \(status.size) bytes, and an import at most \(Self.largest)."))
        }
        guard let file = try runtime.files.read(location) else { return nil }
        let digest = SHA256.hash(data: file.bytes)
        // Each deletion reads the file again. Parsing takes a hundred times as long as the digest.
        if let latest = latest.withLock(\.self), latest.digest == digest { return latest.content }
        let content: Content
        do throws(PropertyListFault) { content = .values(try values(file.bytes)) } catch {
            switch error {
            case .damaged(let how): content = .damaged(file.bytes, how)
            case .unsupported(let why):
                content = .unusable(BackendError(.unsupported, "The file \(location) cannot be imported: \(why). Nothing was changed."))
            }
        }
        latest.withLock { $0 = (file.status, digest, content) }
        return content
    }

    private func values(_ bytes: [UInt8]) throws(PropertyListFault) -> [String: NativeValue] {
        switch form {
        case .propertyList: return try PropertyListReader.read(bytes)
        case .keyedArchive:
            var values: [String: NativeValue] = [:]
            for (name, value) in try KeyedArchiveReader.read(bytes) { values[name] = try ArchivedNull.leavingOut(of: value) }
            return values
        }
    }
}
