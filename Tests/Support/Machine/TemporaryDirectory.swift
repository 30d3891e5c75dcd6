import Foundation

/// A folder of a test's own (permissions 0700), removed with everything in it when the last reference goes.
package final class TemporaryDirectory: Sendable {
    /// The folder's path, short enough for sockets.
    package let path: String

    /// Makes the folder.
    package init() throws {
        let path = "/tmp/ld-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        self.path = path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of something in the folder.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a folder in the folder.
    package func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return file(name)
    }
}
