import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport

/// The files of property list stores, in a temporary directory for one test.
struct Scratch {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory(permissions: 0o755) }

    var root: String { directory.path }

    /// Returns the path of the property list of ``store(_:suite:deadline:)``.
    func path(_ suite: String = "suite") -> String { "\(root)/config/\(suite).plist" }
    var quarantine: String { root + "/quarantine" }
    func lockPath(_ suite: String = "suite", in folder: String = "state") -> String { "\(root)/\(folder)/\(suite).lock" }

    /// Makes a store on the property list of a suite.
    /// - Parameter locks: The folder of lock files. Stores with different folders do not share a lock.
    func store(
        _ runtime: Runtime = .live, suite: String = "suite", locks: String = "state", deadline: Duration = .seconds(30)
    ) -> PropertyListStore {
        PropertyListStore(
            path: path(suite), lockPath: lockPath(suite, in: locks), quarantineDirectory: quarantine, deadline: deadline, runtime: runtime)
    }

    /// Writes a file as another program would: overwrites the existing file, without a lock.
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

    /// Reads the entries of the file with Foundation's parser.
    func foundationEntries(_ suite: String = "suite") throws -> [String: Any] {
        let root = try PropertyListSerialization.propertyList(from: Data(contentsOf: URL(fileURLWithPath: path(suite))), format: nil)
        return root as? [String: Any] ?? [:]
    }

    func names(in directory: String) throws -> [String] { try PosixFileSystem().list(directory) ?? [] }
}

/// Reads a file from the `Fixtures` folder of this test target.
func fixture(_ name: String) throws -> [UInt8] {
    guard let url = Bundle.module.url(forResource: "Fixtures", withExtension: nil) else { throw CocoaError(.fileNoSuchFile) }
    return [UInt8](try Data(contentsOf: url.appendingPathComponent(name)))
}

extension StoragePayload {
    static func text(_ text: String) -> StoragePayload { .native(.string(text)) }
}

extension StorageProbe {
    /// The text in the slot, if the slot has a native text.
    var text: String? {
        if case .native(.string(let text))? = record?.payload { text } else { nil }
    }

    var native: NativeValue? {
        if case .native(let value)? = record?.payload { value } else { nil }
    }
}
