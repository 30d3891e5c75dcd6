#if Configuration
    import BackendRuntime
    import Configuration
    import Foundation
    import LocalData
    import Logging
    import Synchronization
    import TestSupport

    /// Helpers for the tests of the provider.
    enum ConfigTest {
        /// Returns the code of the `StorageError` that a closure throws; nil if it throws none.
        static func code(of body: () async throws -> Void) async -> StorageError.Code? {
            do {
                try await body()
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        /// The domains with a real store: property lists, encrypted databases and the keyring, as far as the build has them.
        static let realDomains: [StorageDomain] = {
            var domains = [StorageDomain.userDefaults]
            #if SQLite
                domains.append(.encryptedSQLite(database: "main"))
            #endif
            #if Keyring && os(Linux)
                domains.append(.keychain)
            #endif
            return domains
        }()

        /// Writes with one program, and reads with another one, over real files or a private keyring.
        static func restarting<Written>(
            _ domain: StorageDomain, _ write: (StorageRouter) async throws -> Written,
            _ read: (StorageRouter, Written) async throws -> Void
        ) async throws {
            let folder = try TemporaryDirectory()
            // The folder is removed when the last reference is released.
            defer { withExtendedLifetime(folder) {} }
            // All tests of the process share one keyring, so the service is unique.
            var configuration = StorageConfiguration(
                root: URL(filePath: folder.file("root")), applicationID: "test.\(UUID().uuidString)")
            configuration.deadlines.files = .seconds(120)
            configuration.deadlines.keychain = .seconds(120)
            configuration.runtime.isPatient = true
            #if Keyring && os(Linux)
                if domain.kind == .keychain {
                    let keyrings = try PrivateKeyring.shared().keyringsDirectory
                    configuration.runtime.host.environment["XDG_DATA_HOME"] = URL(filePath: keyrings).deletingLastPathComponent().path
                }
            #endif
            let writer = StorageRouter(configuration: configuration)
            let written = try await write(writer)
            try await writer.shutdown()
            let reader = StorageRouter(configuration: configuration)
            try await read(reader, written)
            try await reader.shutdown()
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
