#if Configuration
    import Configuration
    import LocalData
    import Logging
    import Synchronization

    /// Helpers for the tests of the provider.
    enum ConfigTest {
        /// Returns the code of the `StorageError` that a closure throws; nil if it throws none.
        static func code(of body: () async throws -> Void) async -> StorageError.Code? {
            do {
                try await body()
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        /// The content, or the code of the error, in an update of a watch.
        static func text(of update: Result<LookupResult, any Error>) -> String {
            switch update {
            case .success(let result): result.value.map { "\($0.content)" } ?? "nil"
            case .failure(let error): (error as? StorageError)?.code.name ?? "another error"
            }
        }
    }

    /// A log handler that keeps every line.
    struct ConfigLog: LogHandler {
        /// The lines of a log.
        final class Lines: Sendable {
            private let lines = Mutex<[String]>([])
            var all: [String] { lines.withLock(\.self) }
            func add(_ line: String) { lines.withLock { $0.append(line) } }
        }

        let lines: Lines
        var logLevel = Logger.Level.trace
        var metadata = Logger.Metadata()

        init(_ lines: Lines) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.add("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
#endif
