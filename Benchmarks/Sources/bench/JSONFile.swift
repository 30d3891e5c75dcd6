import Foundation

/// A file of values as JSON. Each set encodes all of them, replaces the file atomically and flushes it.
final class JSONFile<Value: Encodable> {
    private let path: String
    private var values: [String: Value]

    init(_ path: String, _ values: [String: Value]) { (self.path, self.values) = (path, values) }

    func set(_ name: String, _ value: Value) throws {
        values[name] = value
        try durableRewrite(path, JSONEncoder().encode(values))
    }
}

/// Replaces a file atomically, and flushes the file and its directory.
func durableRewrite(_ path: String, _ bytes: Data) throws {
    let file = open(path + ".tmp", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    let written = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    guard written == bytes.count, fsync(file) == 0, rename(path + ".tmp", path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    let directory = open((path as NSString).deletingLastPathComponent, O_RDONLY)
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw CocoaError(.fileWriteUnknown) }
}
