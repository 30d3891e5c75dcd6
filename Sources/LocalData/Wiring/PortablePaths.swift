package import BackendRuntime

/// Converts paths in the folders of a configuration to a form that remains valid when the folders are moved or copied:
/// `<data>/databases/main.sqlite`.
package struct PortablePaths {
    /// The folders, with the longest path first, because a folder may be inside another one.
    private let folders: [(name: String, path: String)]

    package init(_ directories: StorageDirectories, _ files: any FileSystem) {
        folders = [("<preferences>", directories.preferences), ("<data>", directories.data), ("<state>", directories.state)]
            .map { ($0.0, files.resolve($0.1)) }.sorted { $0.1.utf8.count > $1.1.utf8.count }
    }

    /// Returns the portable form of a path. A path outside of the folders is returned unchanged. For example, a
    /// property list may be a symbolic link to a file elsewhere.
    package func portable(_ path: String) -> String {
        for folder in folders { if let rest = Self.rest(of: path, after: folder.path) { return folder.name + rest } }
        return path
    }

    /// Returns the path on this machine for a portable form.
    package func path(_ text: String) -> String {
        for folder in folders { if let rest = Self.rest(of: text, after: folder.name) { return folder.path + rest } }
        return text
    }

    /// Returns the part of a path after a folder, beginning with the slash; nil if the path is not in the folder.
    private static func rest(of path: String, after folder: String) -> String? {
        path.utf8.starts(with: "\(folder)/".utf8) ? String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self) : nil
    }
}
