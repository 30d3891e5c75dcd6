package import BackendContract
package import BackendRuntime

/// The copies of damaged property lists in a folder, which ``PropertyListStore`` makes before it reports the damage.
package struct PropertyListCopies: Sendable {
    /// A copy.
    package struct Copy: Hashable, Sendable {
        /// The file's name, which follows from the suite and from the bytes.
        package let name: String
        /// The suite.
        package let suite: String
        /// When it was made, in seconds since 1970.
        package let since: Double
    }

    private let directory: String
    private let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration

    /// Names the folder; nothing is opened yet.
    /// - Parameters:
    ///   - directory: The folder of the copies.
    ///   - deadline: How long a call may take.
    ///   - runtime: The machine.
    package init(directory: String, deadline: Duration, runtime: Runtime) {
        self.directory = directory
        self.deadline = deadline
        self.runtime = runtime
        lane = runtime.makeLane("defaults.copies")
    }

    /// The name of the copy of some bytes.
    static func name(suite: String, digest: some Sequence<UInt8>) -> String { "\(suite)-\(hexadecimalText(of: Array(digest))).plist" }

    /// The suite of a copy; nil for any other file.
    private static func suite(ofCopy name: String) -> String? {
        let (ending, digits) = (".plist", 32)
        guard name.hasSuffix(ending), !name.hasPrefix(".") else { return nil }
        let stem = name.dropLast(ending.count)
        guard let digest = bytes(ofHexadecimal: stem.suffix(digits)), digest.count == digits / 2 else { return nil }
        let rest = stem.dropLast(digits)
        return rest.count > 1 && rest.hasSuffix("-") ? String(rest.dropLast()) : nil
    }

    /// The copies, the oldest first.
    /// - Throws: ``BackendError`` when the folder cannot be read.
    package func list() async throws(BackendError) -> [Copy] {
        try await onLane(isMutation: false) { (files) throws(FileError) in
            var copies: [Copy] = []
            for name in try files.list(directory) ?? [] {
                guard let suite = Self.suite(ofCopy: name), let status = try files.status("\(directory)/\(name)") else { continue }
                copies.append(Copy(name: name, suite: suite, since: Double(status.modified) / 1e9))
            }
            return copies.sorted { ($0.since, $0.name) < ($1.since, $1.name) }
        }
    }

    /// The bytes of a copy; nil when there is none of this name.
    /// - Throws: ``BackendError`` when it cannot be read.
    package func content(of name: String) async throws(BackendError) -> [UInt8]? {
        guard Self.suite(ofCopy: name) != nil, !name.contains("/") else { return nil }
        return try await onLane(isMutation: false) { (files) throws(FileError) in try files.read("\(directory)/\(name)")?.bytes }
    }

    /// Removes a copy, durably when it returns.
    /// - Returns: Whether there was one.
    /// - Throws: ``BackendError`` when it cannot be removed.
    package func remove(_ name: String) async throws(BackendError) -> Bool {
        guard Self.suite(ofCopy: name) != nil, !name.contains("/") else { return false }
        return try await onLane(isMutation: true) { (files) throws(FileError) in
            guard try files.status("\(directory)/\(name)") != nil else { return false }
            try files.remove("\(directory)/\(name)")
            try files.synchronizeDirectory(directory)
            return true
        }
    }

    private func onLane<R: Sendable>(
        isMutation: Bool, _ work: @escaping @Sendable (any FileSystem) throws(FileError) -> R
    ) async throws(BackendError) -> R {
        let files = runtime.files
        return try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: isMutation) {
            (_) throws(BackendError) in
            do throws(FileError) { return try work(files) } catch { throw error.backendError() }
        }
    }
}
