#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// A collection that an earlier build and this build use at the same time, in a release window: this build keeps
    /// the legacy collection up to date for the earlier one.
    extension OldBuildTests {
        private struct Person: Codable, Sendable, Identifiable { var id: String, name: String }

        @Test(arguments: ["people"])
        func `in a release window, an earlier and this build read, change, add and remove the records of one collection`(
            _ name: String
        ) async throws {
            let old = try OldProgram.start(stage)
            func person(_ id: String, _ name: String) -> String { "{\"id\":\"\(id)\",\"name\":\"\(name)\"}" }
            let place: StorageDomain = name == "people" ? suite : .encryptedSQLite(database: "old")
            let older = StorageCollection<Person>(name, domain: place, owner: "Tests", description: "Persons")
            let persons = StorageCollection<Person>("persons", domain: database, owner: "Tests", description: "Persons")
                .moved(from: older, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))
            func names(_ router: StorageRouter) async throws -> [String] {
                let found = try await router.everything(in: persons)
                #expect(found.damaged.isEmpty)
                let count = try await router.count(in: persons)
                #expect(count == found.records.count)
                return found.records.map { "\($0.id) is \($0.name)" }.sorted()
            }
            for id in ["a", "b", "c"] { #expect(try await old.run("set", "\(name)/\(id)", person(id, "first")) == "done") }
            try await upgrade(.collection(persons)) { router, report in
                #expect(report.rows.map(\.state) == [.moved])
                try await router.set(Person(id: "a", name: "second"), in: persons)
                try await router.set(Person(id: "d", name: "second"), in: persons)
                try await router.remove("b", in: persons)
            }
            #expect(try await old.run("get", name) == "a is second, c is first, d is second")
            #expect(try await old.run("set", "\(name)/a", person("a", "third")) == "done")
            #expect(try await old.run("set", "\(name)/e", person("e", "third")) == "done")
            #expect(try await old.run("remove", "\(name)/c") == "done")
            try await launch { router in
                let found = try await names(router)
                #expect(found == ["a is third", "d is second", "e is third"])
            }
            // Another upgrade ends the release window while the older build still runs.
            #expect(try await old.run("set", "\(name)/d", person("d", "fourth")) == "done")
            try await launch { router in
                try await router.endReleaseWindow(in: persons)
                let found = try await names(router)
                #expect(found == ["a is third", "d is fourth", "e is third"])
                let kept = try await quarantine(router)
                #expect(kept.count == 1 && kept[0].contains("first"))
            }
            #expect(try await old.run("get", name) == "")
            _ = await old.end()
        }
    }
#endif
