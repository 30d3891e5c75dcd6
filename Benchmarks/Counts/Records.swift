import Foundation
import LocalData

/// Measures reads of the records of a collection in encrypted SQLite.
struct Records {
    private struct Note: Codable, Identifiable, Sendable {
        var id: Int
        var text: String
    }

    private struct Titled: Codable, Identifiable, Sendable {
        var id: Int
        var title: String
        var isRead: Bool
        var stars: Int
    }

    let folder: URL

    init(_ folder: URL) { self.folder = folder }

    private func notes<Record: Identifiable>(_ type: Record.Type) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection("notes", domain: .encryptedSQLite(database: "counts"), owner: "Counts", description: "Notes", typeTag: "Note")
    }

    private func filled(_ count: Int) async throws -> StorageRouter {
        let router = StorageRouter(configuration: configuration(folder))
        try await router.set((0..<count).map { Note(id: $0, text: "Note number \($0)") }, in: notes(Note.self))
        return router
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
}
