package import BackendRuntime

/// Paths in the folders of a configuration, in a form that stays true when the folders are moved or copied: `<data>/databases/main.sqlite`.
package struct PortablePaths {
    /// The longest first: a folder may lie in another one.
    private let folders: [(name: String, path: String)]

    package init(_ directories: StorageDirectories, _ files: any FileSystem) {
        folders = [("<preferences>", directories.preferences), ("<data>", directories.data), ("<state>", directories.state)]
            .map { ($0.0, files.resolve($0.1)) }.sorted { $0.1.utf8.count > $1.1.utf8.count }
    }

    /// The portable form of a path; the path itself where it is in none of the folders, as that of a list which is a link.
    package func portable(_ path: String) -> String {
        for folder in folders { if let rest = Self.rest(of: path, after: folder.path) { return folder.name + rest } }
        return path
    }

    /// The path that a portable form means here.
    package func path(_ text: String) -> String {
        for folder in folders { if let rest = Self.rest(of: text, after: folder.name) { return folder.path + rest } }
        return text
    }

    /// What follows a folder in a path, from the slash on.
    private static func rest(of path: String, after folder: String) -> String? {
        path.utf8.starts(with: "\(folder)/".utf8) ? String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self) : nil
    }
}
