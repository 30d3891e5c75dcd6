package import Foundation

/// A folder of a test's own, removed with everything in it when the last reference goes.
package final class TemporaryDirectory: Sendable {
    /// The folder's path, short enough for sockets.
    package let path: String

    /// Makes the folder.
    /// - Parameter permissions: 0755 where a program of another user works in it, too.
    package init(permissions: Int = 0o700) throws {
        path = Self.newPath()
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: permissions])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private static func newPath() -> String { "/tmp/ld-\(UInt64.random(in: .min ... .max))" }

    /// The path of something in the folder.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a folder in the folder.
    package func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return file(name)
    }

    /// A path alone in a folder of its own that is not made yet: for stores without an end. All are removed when the test process ends in order.
    package static func unendingFile(_ name: String) -> URL { unending.appending(path: "\(UUID().uuidString)/\(name)") }

    private static let unending: URL = {
        // Begun first, so that it is there when the process ends.
        atexit { try? FileManager.default.removeItem(at: TemporaryDirectory.unending) }
        return URL(filePath: newPath())
    }()
}
