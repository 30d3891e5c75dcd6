import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport

/// The files of property lists in a directory of a test's own.
struct Scratch {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory(permissions: 0o755) }

    var root: String { directory.path }

    /// The property list that ``store(_:suite:deadline:)`` keeps.
    func path(_ suite: String = "suite") -> String { "\(root)/config/\(suite).plist" }
    var quarantine: String { root + "/quarantine" }
    func lockPath(_ suite: String = "suite", in folder: String = "state") -> String { "\(root)/\(folder)/\(suite).lock" }

    /// - Parameter locks: The folder of locks, where not the one of the other stores.
    func store(
        _ runtime: Runtime = .live, suite: String = "suite", locks: String = "state", deadline: Duration = .seconds(30)
    ) -> PropertyListStore {
        PropertyListStore(
            path: path(suite), lockPath: lockPath(suite, in: locks), quarantineDirectory: quarantine, deadline: deadline, runtime: runtime)
    }

    /// Writes a file as another program would: in place, without any lock.
    func write(_ bytes: [UInt8], to path: String) throws {
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    /// Writes a property list as another program would.
    func writeForeign(_ entries: [String: Any], suite: String = "suite") throws {
        try write(Self.propertyList(entries), to: path(suite))
    }

    static func propertyList(_ entries: [String: Any], _ format: PropertyListSerialization.PropertyListFormat = .xml) throws -> [UInt8] {
        [UInt8](try PropertyListSerialization.data(fromPropertyList: entries, format: format, options: 0))
    }

    /// What Foundation's parser finds in the file.
    func foundationEntries(_ suite: String = "suite") throws -> [String: Any] {
        let root = try PropertyListSerialization.propertyList(from: Data(contentsOf: URL(fileURLWithPath: path(suite))), format: nil)
        return root as? [String: Any] ?? [:]
    }

    func names(in directory: String) throws -> [String] { try PosixFileSystem().list(directory) ?? [] }
}

/// A file of this suite's `Fixtures`.
func fixture(_ name: String) throws -> [UInt8] {
    guard let url = Bundle.module.url(forResource: "Fixtures", withExtension: nil) else { throw CocoaError(.fileNoSuchFile) }
    return [UInt8](try Data(contentsOf: url.appendingPathComponent(name)))
}

extension StoragePayload {
    static func text(_ text: String) -> StoragePayload { .native(.string(text)) }
}

extension StorageProbe {
    /// The native text that the slot holds.
    var text: String? {
        if case .native(.string(let text))? = record?.payload { text } else { nil }
    }

    var native: NativeValue? {
        if case .native(let value)? = record?.payload { value } else { nil }
    }
}
