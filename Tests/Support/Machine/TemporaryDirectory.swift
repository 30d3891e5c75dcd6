package import Foundation

/// A temporary folder. It is removed with its content when the last reference is released.
package final class TemporaryDirectory: Sendable {
    /// The path of the folder. It is short enough for sockets.
    package let path: String

    /// Creates the folder.
    /// - Parameter permissions: The permissions of the folder: 0755 if a program of another user works in it, too.
    package init(permissions: Int = 0o700) throws {
        path = Self.newPath()
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: permissions])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private static func newPath() -> String { "/tmp/ld-\(UInt64.random(in: .min ... .max))" }

    /// Returns a path in the folder.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Creates a folder in the folder, and returns its path.
    package func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return file(name)
    }

    /// Returns the path of a file in a unique folder that is not created yet.
    /// All such folders are removed when the test process exits normally.
    package static func unendingFile(_ name: String) -> URL { unending.appending(path: "\(UUID().uuidString)/\(name)") }

    private static let unending: URL = {
        // The handler runs at exit, when this property has its value.
        atexit { try? FileManager.default.removeItem(at: TemporaryDirectory.unending) }
        return URL(filePath: newPath())
    }()
}
