#if Hummingbird
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataHummingbird
    import Synchronization
    import TestSupport
    import Testing

    /// The stores that the tests of the driver run with.
    enum PersistStore: CaseIterable, Sendable, CustomTestStringConvertible {
        /// Memory with the capabilities of an encrypted database.
        case databaseInMemory
        /// Memory with the capabilities of a property list.
        case listInMemory
        #if SQLite
            /// An encrypted database in a temporary folder.
            case database
        #endif
        /// A property list in a temporary folder.
        case list

        var isOnDisk: Bool {
            switch self {
            case .databaseInMemory, .listInMemory: false
            #if SQLite
                case .database: true
            #endif
            case .list: true
            }
        }

        var domain: StorageDomain {
            switch self {
            case .databaseInMemory: .encryptedSQLite(database: "sessions")
            #if SQLite
                case .database: .encryptedSQLite(database: "sessions")
            #endif
            case .listInMemory, .list: .userDefaults
            }
        }

        var testDescription: String {
            switch self {
            case .databaseInMemory: "encrypted database in memory"
            case .listInMemory: "property list in memory"
            #if SQLite
                case .database: "encrypted database"
            #endif
            case .list: "property list"
            }
        }
    }

    /// A store that several programs share. Each program is a router.
    final class PersistBench: Sendable {
        let clock: SteppedClock
        let domain: StorageDomain
        private let folder: TemporaryDirectory
        private let configuration: StorageConfiguration
        private let routers = Mutex<[StorageRouter]>([])

        private init(_ store: PersistStore, _ clock: SteppedClock) throws {
            (self.clock, domain) = (clock, store.domain)
            folder = try TemporaryDirectory()
            var configuration =
                store.isOnDisk
                ? StorageConfiguration(root: URL(filePath: folder.file("root")), applicationID: "com.example.shop")
                : StorageConfiguration.inMemory()
            configuration.userDefaultsName = "standard"
            configuration.deadlines.files = .seconds(120)
            configuration.runtime.clock = clock
            self.configuration = configuration
        }

        /// Runs a test with an empty store, and shuts all routers down at the end.
        static func with(
            _ store: PersistStore, clock: SteppedClock = SteppedClock(), _ body: (PersistBench) async throws -> Void
        ) async throws {
            let bench = try PersistBench(store, clock)
            do { try await body(bench) } catch {
                for router in bench.routers.withLock(\.self) { try? await router.shutdown() }
                throw error
            }
            for router in bench.routers.withLock(\.self) { try await router.shutdown() }
        }

        /// Starts a program.
        func launch(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
            var configuration = configuration
            change(&configuration)
            let router = StorageRouter(configuration: configuration)
            routers.withLock { $0.append(router) }
            return router
        }

        /// Starts a program, and returns its driver.
        func driver() -> StoragePersistDriver { StoragePersistDriver(launch(), domain: domain) }

        /// Returns the names of all stored values, also of those that have expired.
        func storedNames() async throws -> [String] { try await launch().names(of: domain, collection: "persist") }

        /// Returns whether a file of the store contains a text without white space, in UTF-8 or in base64.
        func isInFile(_ text: String) throws -> Bool {
            let needles = [Data(text.utf8)] + (0..<3).map { Self.base64(text, after: $0) }
            let files = FileManager.default.enumerator(at: URL(filePath: folder.path), includingPropertiesForKeys: [.isRegularFileKey])
            while let file = files?.nextObject() as? URL {
                guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
                // Lines of base64 may be broken.
                let content: Data = try Data(contentsOf: file).filter { $0 > 0x20 }
                if needles.contains(where: { content.range(of: $0) != nil }) { return true }
            }
            return false
        }

        /// Returns the characters of base64 that encode a text behind some other bytes, without those that depend on neighbours.
        private static func base64(_ text: String, after offset: Int) -> Data {
            let bytes = Data(count: offset) + Data(text.utf8)
            return Data(bytes.base64EncodedString().utf8.prefix(bytes.count * 8 / 6).dropFirst((offset * 8 + 5) / 6))
        }
    }
#endif
