import Foundation
import LocalData

/// The operations whose instructions and allocations are counted. Contents, names and sizes are fixed, so that every
/// run does the same work.
enum Operation: String, CaseIterable {
    case getMemory = "get-memory"
    case getMetrics = "get-metrics"
    case getDefaults = "get-defaults"
    case getSQLite = "get-sqlite"
    case getCache = "get-cache"
    case set = "set"
    case setTasks = "set-64-tasks"
    case open = "open"
    case openAfterThousand = "open-after-1000"
    case openAfterSweep = "open-after-sweep"
    case migratingGet = "migrating-get"
    case sweep = "sweep"
    case sweepTenThousand = "sweep-10000"
    case sweepIdle = "sweep-idle"
    case registration = "registration"
    case store = "store"
    case enumeration = "enumeration"
    case queryPage = "query-page"
    case chain = "chain"
    case chainPage = "chain-page"
    case migrateAll = "migrate-all"
    case follower = "follower"

    var title: String {
        switch self {
        case .getMemory: "hot get of a text from memory"
        case .getMetrics: "the same by a router with the instrument for swift-metrics, without a metrics system"
        case .getDefaults: "hot get of a text from user defaults, 10 keys"
        case .getSQLite: "hot get of five fields from encrypted SQLite, 1,000 rows"
        case .getCache: "hot get of a record from a cache in encrypted SQLite"
        case .set: "durable set of five fields in encrypted SQLite, one task"
        case .setTasks: "the same by 64 tasks"
        case .open: "open + first get, encrypted SQLite"
        case .openAfterThousand: "the same after a sweep of 1,000 keys"
        case .openAfterSweep: "the same after a sweep of 100,000 keys"
        case .migratingGet: "a get that moves a value from a list into encrypted SQLite, after a sweep of 10,000 keys"
        case .sweep: "a key of a sweep from a list into encrypted SQLite, 384 keys"
        case .sweepTenThousand: "the same of 10,000 keys"
        case .sweepIdle: "a key of a sweep with nothing to do, encrypted SQLite"
        case .registration: "a key with a legacy location, registered without a sweep"
        case .store: "a record of a collection in encrypted SQLite, stored in commits of 1,000"
        case .enumeration: "a record of a collection in encrypted SQLite, enumerated"
        case .queryPage: "a record of a page of 50 that have one attribute, of 2,000 records"
        case .chain: "a record read through a chain of three steps, written back"
        case .chainPage: "a record of a collection that a sweep converts in pages, by a chain of two steps"
        case .migrateAll: "a record of a collection that `migrateAll` converts to another type"
        case .follower: "a durable set of a record, and its change in `changes(in:)`"
        }
    }

    /// The number of keys that a sweep moves before the operation, in a process that is not counted.
    var sweptKeys: Int {
        switch self {
        case .openAfterThousand: 1_000
        case .openAfterSweep: 100_000
        case .migratingGet: 10_000
        default: 0
        }
    }

    /// Prepares the folder of the operation, in a process that is not counted.
    func prepare(_ folder: URL) async throws {
        if sweptKeys > 0 { try await Catalogs(folder).prepare(sweptKeys) }
        if self == .sweepTenThousand { try await Catalogs(folder).fillList(for: Self.manyKeys) }
    }

    private static let manyKeys = 10_000

    /// Runs the operation to warm up, and then in the measured phase.
    /// - Parameter folder: An empty folder. The length of its path affects the counts.
    func run(in folder: URL) async throws {
        switch self {
        case .getMemory: try await Values(folder).getFromMemory()
        case .getMetrics: try await Values(folder).getWithMetrics()
        case .getDefaults: try await Values(folder).getFromDefaults()
        case .getSQLite: try await Values(folder).getFromSQLite()
        case .getCache: try await Records(folder).getFromCache()
        case .set: try await Values(folder).set()
        case .setTasks: try await Values(folder).setByTasks()
        case .open: try await Values(folder).open()
        case .openAfterThousand, .openAfterSweep: try await Catalogs(folder).openAfterSweep()
        case .migratingGet: try await Catalogs(folder).getMigrating()
        case .sweep: try await Catalogs(folder).sweep()
        case .sweepTenThousand: try await Catalogs(folder).sweepFilled(Self.manyKeys)
        case .sweepIdle: try await Catalogs(folder).sweepIdle()
        case .registration: try await Catalogs(folder).register()
        case .store: try await Records(folder).store()
        case .enumeration: try await Records(folder).enumerate()
        case .queryPage: try await Records(folder).readPagesOfQueries()
        case .chain: try await Records(folder).readThroughChain()
        case .chainPage: try await Records(folder).convertByChain()
        case .migrateAll: try await Records(folder).migrateAll()
        case .follower: try await Records(folder).follow()
        }
    }
}

/// Returns a configuration that stores everything in one folder, including the encryption key. It therefore needs no
/// keyring.
func configuration(_ folder: URL) -> StorageConfiguration {
    var configuration = StorageConfiguration(root: folder, applicationID: "counts")
    configuration.userDefaultsName = "counts"
    // Valgrind runs one thread at a time, about fifty times slower, so operations on files need a longer deadline.
    configuration.deadlines.files = .seconds(600)
    return configuration
}
