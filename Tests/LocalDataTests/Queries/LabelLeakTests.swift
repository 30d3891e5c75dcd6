#if SQLite
    import Foundation
    import LocalData
    import LocalDataQueries
    import TestSupport
    import Testing

    /// The findings of a program that has the file of a database and no key, about the labels of derived attributes.
    @Suite(.inTurn) struct LabelLeakTests {
        private struct Findings: Decodable {
            let rows: Int
            let labels: Int
            let groups: [Int]
            let profiles: [Int]
        }

        private static let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Proof/labels.py")
            .standardizedFileURL.path

        /// Stores six records with the tags `work`, `home` and `other`, three, two and one of them, and looks at the file.
        private func findings(_ collection: (StorageCollection<Item>) -> StorageCollection<Item>) async throws -> Findings {
            let stage = try Stage()
            let router = stage.launch { $0.keySource = .keyFile("sealing.key") }
            let items = collection(Item.plain(.encryptedSQLite(database: "main")))
            let tags = ["work", "work", "work", "home", "home", "other"]
            try await router.set(tags.enumerated().map { Item(id: "i\($0)", tag: $1) }, in: items)
            #expect(try await router.count(in: items, where: \.tag == "work") == 3)
            try await router.shutdown()
            let files = FileManager.default.enumerator(atPath: stage.root.path)?.compactMap { $0 as? String } ?? []
            let file = try #require(files.first { $0.hasSuffix("main.sqlite") })
            let result = try await run("/usr/bin/python3", ["-B", Self.program, "--json", stage.root.appending(path: file).path])
            #expect(result.status == 0)
            for word in ["work", "home", "other", "tag", "items", "i0"] { #expect(!result.stdout.contains(word)) }
            return try JSONDecoder().decode(Findings.self, from: Data(result.stdout.utf8))
        }

        @Test func `labels show how many records share a value, and no value`() async throws {
            let found = try await findings { $0.attribute("tag", \.tag) }
            #expect(found.rows == 6)
            // Six records share their collection, type, day, version and declarations; the list of days has one entry.
            #expect(found.groups.filter { $0 < 6 } == [3, 2, 1, 1])
            #expect(found.profiles == [3, 2, 1, 1])
        }

        @Test func `without an index of attributes, the file does not show which records share a value`() async throws {
            let found = try await findings { $0.attribute("tag", \.tag).withoutAttributeIndex() }
            #expect(found.groups.filter { $0 < 6 } == [1])
            #expect(found.profiles == [6, 1])
        }
    }
#endif
