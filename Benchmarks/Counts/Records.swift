import Foundation
import LocalData
import LocalDataCaches
import LocalDataObservation
import LocalDataQueries

/// Measures operations on the records of a collection in encrypted SQLite.
struct Records {
    private struct Note: Codable, Identifiable, Sendable {
        var id: Int
        var text: String
    }

    /// The type of ``Note`` under another name.
    private struct Memo: Codable, Identifiable, Sendable {
        var id: Int
        var text: String
    }

    private struct Tagged: Codable, Identifiable, Sendable {
        var id: Int
        var tag: String
        var text: String
    }

    /// The records after two steps.
    private struct Marked: Codable, Identifiable, Sendable {
        var id: Int
        var title: String
        var isRead: Bool
    }

    /// The records after three steps.
    private struct Titled: Codable, Identifiable, Sendable {
        var id: Int
        var title: String
        var isRead: Bool
        var stars: Int
    }

    private struct Catalog: StorageKeyCatalog {
        let id: String
        let allKeys: [AnyStorageKey]
    }

    let folder: URL

    init(_ folder: URL) { self.folder = folder }

    private func notes<Record: Identifiable>(
        _ type: Record.Type, _ name: String = "notes", typeTag: String = "Note"
    ) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection(name, domain: .encryptedSQLite(database: "counts"), owner: "Counts", description: "Notes", typeTag: typeTag)
    }

    private func filled(_ count: Int, _ name: String = "notes") async throws -> StorageRouter {
        let router = StorageRouter(configuration: configuration(folder))
        try await store(0..<count, router, in: name)
        return router
    }

    /// Stores notes in one commit.
    private func store(_ ids: Range<Int>, _ router: StorageRouter, in name: String = "notes") async throws {
        try await router.set(ids.map { Note(id: $0, text: "Note number \($0)") }, in: notes(Note.self, name))
    }

    // MARK: Storing and reading

    func store() async throws {
        let router = try await filled(1_000)
        try await measure(2_000) { for start in [1_000, 2_000] { try await store(start..<start + 1_000, router) } }
        try await router.shutdown()
    }

    func enumerate() async throws {
        let count = 1_024
        let router = try await filled(count)
        func all() async throws {
            var met = 0
            for try await _ in router.records(in: notes(Note.self)) { met += 1 }
            precondition(met == count)
        }
        for _ in 0..<2 { try await all() }
        try await measure(count, all)
        try await router.shutdown()
    }

    func getFromCache() async throws {
        let router = StorageRouter(configuration: configuration(folder))
        let cache = try notes(Note.self).cache(limit: .bytes(64 << 20), storage: router)
        let names = (0..<100).map { "note-\($0)" }
        for (id, name) in names.enumerated() { try await cache.set(Note(id: id, text: "Note number \(id)"), for: name) }
        func all() async throws { for name in names { _ = try await cache.value(name) } }
        for _ in 0..<2 { try await all() }
        try await measure(5 * names.count) { for _ in 0..<5 { try await all() } }
        let hits = try await cache.statistics.hits
        precondition(hits == 7 * names.count)
        try await router.shutdown()
    }

    func readPagesOfQueries() async throws {
        let (tags, size) = (20, 50)
        let router = StorageRouter(configuration: configuration(folder))
        let tagged = notes(Tagged.self).attribute("tag", \.tag)
        for start in [0, 1_000] {
            let records = (start..<start + 1_000).map { Tagged(id: $0, tag: "tag \($0 % tags)", text: "Note number \($0)") }
            try await router.set(records, in: tagged)
        }
        func pages() async throws {
            for number in 0..<tags {
                let tag = "tag \(number)"
                let page = try await router.page(in: tagged, where: \.tag == tag, size: size)
                precondition(page.records.count == size)
            }
        }
        for _ in 0..<2 { try await pages() }
        try await measure(tags * size, pages)
        try await router.shutdown()
    }

    // MARK: Converting

    /// Measures reads of records that were stored with the first schema version. Each read converts its record in three
    /// steps to the current version, and stores the converted record.
    func readThroughChain() async throws {
        let router = try await filled(120)
        let titled = notes(Titled.self).evolving(
            Evolution.from(version: 1).to { $0.rename("text", to: "title") }.to { $0["isRead"] = false }.to { $0["stars"] = 0 }
                .decoding(Titled.self))
        func read(_ ids: Range<Int>) async throws { for id in ids { _ = try await router.get(id, in: titled) } }
        try await read(0..<20)
        try await measure(100) { try await read(20..<120) }
        try await router.shutdown()
    }

    /// A sweep converts all records of a collection. Another collection is swept before the measurement.
    func convertByChain() async throws {
        let count = 1_024
        let router = try await filled(128, "first")
        try await store(0..<count, router, in: "second")
        func catalog(_ name: String) -> Catalog {
            let marked = notes(Marked.self, name).evolving(
                Evolution.from(version: 1).to { $0.rename("text", to: "title") }.to { $0["isRead"] = false }.decoding(Marked.self))
            return Catalog(id: name, allKeys: [.collection(marked)])
        }
        let (warmUp, measured) = (catalog("first"), catalog("second"))
        try await router.registerCatalog(warmUp, migrateImmediately: true).requireComplete()
        try await measure(count) { try await router.registerCatalog(measured, migrateImmediately: true).requireComplete() }
        try await router.shutdown()
    }

    func migrateAll() async throws {
        let count = 1_024
        let router = try await filled(128, "first")
        try await store(0..<count, router, in: "second")
        func convert(_ name: String) async throws -> Int? {
            try await router.migrateAll(from: "Note", to: notes(Memo.self, name, typeTag: "Memo")).records
        }
        _ = try await convert("first")
        try await measure(count) {
            let converted = try await convert("second")
            precondition(converted == count)
        }
        try await router.shutdown()
    }

    // MARK: Following

    /// Sets records one after the other, and waits for the change of each.
    func follow() async throws {
        let (count, first, measured) = (200, 20, 100)
        let router = try await filled(count)
        var (seen, before) = (0, UInt(0))
        for try await _ in router.changes(in: notes(Note.self)) {
            seen += 1
            // The sequence begins with the present records.
            guard seen >= count else { continue }
            let changed = seen - count
            if changed == first { before = beginMeasuring() }
            if changed == first + measured {
                endMeasuring(measured, before)
                break
            }
            try await router.set(Note(id: changed, text: "Note again"), in: notes(Note.self))
        }
        try await router.shutdown()
    }
}
