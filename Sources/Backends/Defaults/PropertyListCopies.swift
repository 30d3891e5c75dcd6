package import BackendContract
package import BackendRuntime

/// The copies of damaged property lists in a folder. ``PropertyListStore`` makes a copy of a list before it reports
/// that the list is damaged.
package struct PropertyListCopies: Sendable {
    /// A copy of a damaged property list.
    package struct Copy: Hashable, Sendable {
        /// The name of the copy's file. It is derived from the suite (a named set of defaults, stored in one list) and
        /// from the bytes.
        package let name: String
        /// The name of the suite.
        package let suite: String
        /// The time at which the copy was made, in seconds since 1970.
        package let since: Double
    }

    private let directory: String
    private let lane: FileLane

    /// Creates a description of the folder; nothing is opened.
    /// - Parameters:
    ///   - directory: The folder of the copies.
    ///   - deadline: How long a call may take.
    ///   - runtime: The clock, the files and the lanes (serial queues for blocking work).
    package init(directory: String, deadline: Duration, runtime: Runtime) {
        self.directory = directory
        lane = FileLane("defaults.copies", within: deadline, runtime)
    }

    /// Returns the file name of a copy.
    static func name(suite: String, digest: some Sequence<UInt8>) -> String { "\(suite)-\(hexadecimalText(of: Array(digest))).plist" }

    /// Returns the suite of a copy; nil for any other file.
    static func suite(ofCopy name: String) -> String? {
        let (ending, digits) = (".plist", 32)
        guard name.hasSuffix(ending), !name.hasPrefix(".") else { return nil }
        let stem = name.dropLast(ending.count)
        guard let digest = bytes(ofHexadecimal: stem.suffix(digits)), digest.count == digits / 2 else { return nil }
        let rest = stem.dropLast(digits)
        return rest.count > 1 && rest.hasSuffix("-") ? String(rest.dropLast()) : nil
    }

    /// Lists the copies, oldest first.
    /// - Throws: ``BackendError`` if the folder cannot be read.
    package func list() async throws(BackendError) -> [Copy] {
        try await lane.run(isMutation: false) { (files) throws(FileError) in
            var copies: [Copy] = []
            for name in try files.list(directory) ?? [] {
                guard let suite = Self.suite(ofCopy: name), let status = try files.status("\(directory)/\(name)") else { continue }
                copies.append(Copy(name: name, suite: suite, since: Double(status.modified) / 1e9))
            }
            return copies.sorted { ($0.since, $0.name) < ($1.since, $1.name) }
        }
    }

    /// Returns the bytes of a copy; nil if there is no copy with this name.
    /// - Throws: ``BackendError`` if it cannot be read.
    package func content(of name: String) async throws(BackendError) -> [UInt8]? {
        guard Self.suite(ofCopy: name) != nil, !name.contains("/") else { return nil }
        return try await lane.run(isMutation: false) { (files) throws(FileError) in try files.read("\(directory)/\(name)")?.bytes }
    }

    /// Removes a copy. The removal is durable when this returns.
    /// - Returns: Whether there was a copy with this name.
    /// - Throws: ``BackendError`` if it cannot be removed.
    package func remove(_ name: String) async throws(BackendError) -> Bool {
        guard Self.suite(ofCopy: name) != nil, !name.contains("/") else { return false }
        return try await lane.run(isMutation: true) { (files) throws(FileError) in
            guard try files.status("\(directory)/\(name)") != nil else { return false }
            try files.remove("\(directory)/\(name)")
            try files.synchronizeDirectory(directory)
            return true
        }
    }
}
