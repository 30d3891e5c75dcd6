import BackendContract

/// Reads the values of an ``ImportSource``. It changes nothing.
protocol ImportReader: Sendable {
    /// The location of the values, for messages, and for the identity of the store.
    var location: String { get }

    /// The protection of the values.
    var protection: ProtectionLevel { get }

    /// Reads values by their names. The probes are never tombstones.
    /// - Throws: ``BackendError`` with `timedOut` or `cancelled`. Other errors are reported in the probes.
    func read(_ names: [String], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe]

    /// Lists the names of all values.
    /// - Throws: ``BackendError`` when the list would be incomplete.
    func names() async throws(BackendError) -> [String]

    /// Returns whether the source can be read. Never opens a prompt.
    func status() async -> BackendStatus
}

extension [String: NativeValue] {
    /// Returns the entry whose name has the same bytes. The subscript also finds a name in another Unicode normalization
    /// form, which is a different name in all stores.
    func entry(_ name: String) -> Element? {
        index(forKey: name).map { self[$0] }.flatMap { $0.key.utf8.elementsEqual(name.utf8) ? $0 : nil }
    }
}
