import BackendContract
import Foundation
import LocalDataQueries
import LocalDataTesting
import TestSupport

@testable import LocalData

/// A record for tests of queries. It has a property of each kind that an attribute can be derived from.
struct Item: Codable, Identifiable, Equatable, Sendable {
    enum Status: String, Codable, AttributeValue { case open, done }

    var id: String
    var tag: String
    var size = 0
    var status: Status?
    var ratio = 0.0
    var due: Date?

    /// The collection as the present release declares it.
    static func indexed(_ domain: StorageDomain, _ security: SecurityPolicy = .automatic) -> StorageCollection<Item> {
        plain(domain, security).attribute("tag", \.tag).attribute("size", \.size).attribute("status", \.status)
            .attribute("ratio", \.ratio).attribute("due", \.due)
    }

    /// The collection as a release declares it that derives no attributes.
    static func plain(_ domain: StorageDomain, _ security: SecurityPolicy = .automatic) -> StorageCollection<Item> {
        StorageCollection("items", domain: domain, security: security, owner: "Tests", description: "Items", typeTag: "Item")
    }
}

/// A kind of store in which queries are tested.
enum QueryPlace: CaseIterable, Sendable {
    #if SQLite
        case database
        /// A database without labels of attributes.
        case unindexedDatabase
    #endif
    case propertyList
    /// A property list in which each record is encrypted.
    case encryptedList
    case memory

    var domain: StorageDomain {
        switch self {
        #if SQLite
            case .database, .unindexedDatabase: .encryptedSQLite(database: "main")
        #endif
        case .propertyList, .encryptedList: .userDefaults(suite: "main")
        case .memory: .memory("main")
        }
    }

    private var security: SecurityPolicy { self == .encryptedList ? .encrypted : .automatic }

    var indexed: StorageCollection<Item> {
        #if SQLite
            if self == .unindexedDatabase { return Item.indexed(domain, security).withoutAttributeIndex() }
        #endif
        return Item.indexed(domain, security)
    }

    var plain: StorageCollection<Item> { Item.plain(domain, security) }

    /// Whether a query can find records by a label.
    var hasLabels: Bool {
        #if SQLite
            self == .database
        #else
            false
        #endif
    }

    /// Runs a test with routers over the same data. The routers list records three at a time.
    func withLaunches(_ body: (_ launch: @escaping () -> StorageRouter) async throws -> Void) async throws {
        let stage = try Stage()
        var configuration = stage.configuration
        configuration.keySource = .keyFile("sealing.key")
        configuration.pageSize = 3
        var routers: [StorageRouter] = []
        let launch = { [configuration, self] in
            // The contents of a domain in memory end with their router.
            if self == .memory, let router = routers.first { return router }
            let router = StorageRouter(configuration: configuration)
            routers.append(router)
            return router
        }
        do { try await body(launch) } catch {
            for router in routers { try? await router.shutdown() }
            throw error
        }
        for router in routers { try await router.shutdown() }
    }
}

extension StorageRouter {
    /// Whether labels lead to all records of a collection.
    nonisolated func hasLabels(_ collection: StorageCollection<Item>) async throws -> Bool {
        try await matching("test", in: collection) { try await $0.counts(of: []) != nil }
    }

    /// The attributes of a stored record that a program sees.
    nonisolated func attributes(_ id: String, _ collection: StorageCollection<Item>) async throws -> [String: String]? {
        try await storedValue(for: collection.key(id))?.attributes
    }

    /// All pages of a query, one after the other.
    nonisolated func pages(
        _ collection: StorageCollection<Item>, _ predicate: RecordPredicate<Item>, _ order: RecordOrder<Item>?, size: Int
    ) async throws -> [[Item]] {
        var pages: [[Item]] = []
        var cursor: QueryCursor?
        repeat {
            let page = try await self.page(in: collection, where: predicate, orderedBy: order, size: size, after: cursor)
            pages.append(page.records)
            cursor = page.cursor
        } while cursor != nil
        return pages
    }
}
