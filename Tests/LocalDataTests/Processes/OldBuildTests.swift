#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// A version 1 that is linked against an earlier build of this library, and a Foundation program, write between upgrades of a version 2 of today.
    ///
    /// Nothing can refuse what such a program writes. The tests show what its writes cost, and that nothing is lost silently. `Scripts/check-old-build` builds the
    /// program and runs the suite.
    @Suite(
        .inTurn, .tags(.process),
        .enabled(if: OldProgram.path != nil, "Scripts/check-old-build builds the older program and runs this suite"))
    struct OldBuildTests {
        private let stage: Stage
        private let database = StorageDomain.encryptedSQLite(database: "main")
        private let suite = StorageDomain.userDefaults(suite: "app")

        init() throws { stage = try Stage() }

        private func launch(_ body: (StorageRouter) async throws -> Void) async throws {
            let router = stage.launch { $0.applicationID = "old.build" }
            do { try await body(router) } catch {
                try? await router.shutdown()
                throw error
            }
            try await router.shutdown()
        }

        /// An upgrade: version 2 starts, sweeps, and ends.
        private func upgrade(_ key: AnyStorageKey, _ body: (StorageRouter, MigrationReport) async throws -> Void = { _, _ in }) async throws
        {
            try await launch { router in
                let report = try await router.registerCatalog(TestCatalog([key]), migrateImmediately: true)
                try report.requireComplete()
                try await body(router, report)
            }
        }

        /// Expects what a program of today reads.
        private func expect<Value: Equatable>(_ key: StorageKey<Value>, _ expected: Value) async throws {
            try await launch { router in
                let value = try await router.get(key)
                #expect(value == expected)
            }
        }

        /// The contents of the quarantine, sorted.
        private func quarantine(_ router: StorageRouter) async throws -> [String] {
            var texts: [String] = []
            for entry in try await router.audit().quarantine {
                texts.append(String(decoding: try await router.quarantinedData(entry), as: UTF8.self))
            }
            return texts.sorted()
        }

        private func setDefault(_ name: String, _ text: String) async throws {
            var environment = ProcessInfo.processInfo.environment
            environment["XDG_CONFIG_HOME"] = stage.preferences
            let result = try await run(try Program.built("DefaultsProbe"), ["set-default", "app", name, text], environment: environment)
            #expect(result.status == 0, "\(result.stderr)")
        }

        // MARK: A collection in a release window

        private struct Person: Codable, Sendable, Identifiable { var id: String, name: String }

        @Test(arguments: ["people", "members"]) func `both builds read and write the records of a collection, and add and remove some`(
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
            // While the older build still runs, another upgrade ends the window.
            #expect(try await old.run("set", "\(name)/d", person("d", "fourth")) == "done")
            try await launch { router in
                try await router.endReleaseWindow(of: persons)
                let found = try await names(router)
                #expect(found == ["a is third", "d is fourth", "e is third"])
                let kept = try await quarantine(router)
                #expect(kept.count == 1 && kept[0].contains("first"))
            }
            #expect(try await old.run("get", name) == "")
            _ = await old.end()
        }

        // MARK: A value that version 2 moves

        private func feature(_ policy: ConflictPolicy<Bool>) -> StorageKey<Bool> {
            testKey("feature", database, of: Bool.self).moved(from: testKey("flag", suite, of: Bool.self)).resolvingConflicts(policy)
        }

        enum Winner: CaseIterable, Sendable {
            case destination, source

            var policy: ConflictPolicy<Bool> { self == .destination ? .destinationWins : .sourceWins }
        }

        @Test(arguments: Winner.allCases)
        func `what version 1 sets after an upgrade is the value or in quarantine, also where it is what was moved`(
            winner: Winner
        ) async throws {
            let old = try OldProgram.start(stage)
            let key = feature(winner.policy)
            #expect(try await old.run("set", "flag", "true") == "done")
            try await upgrade(.key(key)) { router, report in
                let value = try await router.get(key)
                #expect(report.rows.map(\.state) == [.moved] && value)
                try await router.set(false, for: key)
            }
            // The same content again: a new write, which no fingerprint tells from the copy.
            #expect(try await old.run("get", "flag") == "absent")
            #expect(try await old.run("set", "flag", "true") == "done")
            try await upgrade(.key(key)) { router, report in
                #expect(report.rows.map(\.state) == [.resolved], "\(report.rows)")
                let (value, kept) = (try await router.get(key), try await quarantine(router))
                #expect(value == (winner == .source))
                #expect(kept == [winner == .source ? "false" : "true"])
            }
            #expect(try await old.run("get", "flag") == "absent")
        }

        @Test func `what version 1 sets after version 2 removed the value stays removed, and is in quarantine`() async throws {
            let old = try OldProgram.start(stage)
            let key = feature(.destinationWins)
            #expect(try await old.run("set", "flag", "true") == "done")
            try await upgrade(.key(key)) { router, _ in try await router.remove(key) }
            #expect(try await old.run("get", "flag") == "absent")
            #expect(try await old.run("set", "flag", "true") == "done")
            try await upgrade(.key(key)) { router, _ in
                let (value, kept) = (try await router.value(for: key), try await quarantine(router))
                #expect(value == nil && kept == ["true"])
            }
        }

        @Test func `what a Foundation program writes between upgrades is the value or in quarantine`() async throws {
            let key = textKey("town", database).moved(from: textKey("city", suite))
            try await setDefault("city", "Oslo")
            try await upgrade(.key(key)) { router, report in
                #expect(report.rows.map(\.state) == [.moved])
                try await router.set("Rome", for: key)
            }
            // Once with the content that was moved, once with another: over a file that Foundation writes anew as a whole.
            for (city, lost) in [("Oslo", ["Oslo"]), ("Graz", ["Graz", "Oslo"])] {
                try await setDefault("city", city)
                try await upgrade(.key(key)) { router, _ in
                    let (value, kept) = (try await router.get(key), try await quarantine(router))
                    #expect(value == "Rome")
                    #expect(kept == lost)
                }
            }
        }

        @Test func `version 1, Foundation and version 2 write the same list in turn`() async throws {
            let old = try OldProgram.start(stage)
            let flag = testKey("flag", suite, of: Bool.self)
            #expect(try await old.run("set", "flag", "true") == "done")
            try await setDefault("city", "Oslo")
            try await launch { router in
                let value = try await router.get(flag)
                #expect(value)
                try await router.set(false, for: flag)
                try await router.set("Rome", for: textKey("city", suite))
            }
            #expect(try await old.run("get", "flag") == "false")
            try await setDefault("city", "Graz")
            #expect(try await old.run("set", "flag", "true") == "done")
            try await launch { router in
                let (value, city) = (try await router.get(flag), try await router.get(textKey("city", suite)))
                #expect(value && city == "Graz")
            }
        }

        // MARK: A release window

        @Test func `version 1 and version 2 read and write one truth in a release window, and nothing is lost at its end`() async throws {
            let old = try OldProgram.start(stage)
            let key = textKey("modern token", .userDefaults(suite: "new"))
                .moved(from: textKey("token", database), keeping: .untilReleased, options: MigrationOptions(allowsWeakerProtection: true))
            #expect(try await old.run("set", "token", "\"one\"") == "done")
            try await upgrade(.key(key)) { router, report in
                #expect(report.rows.map(\.state) == [.moved])
                try await router.set("two", for: key)
            }
            #expect(try await old.run("get", "token") == "\"two\"")
            #expect(try await old.run("set", "token", "\"three\"") == "done")
            try await expect(key, "three")
            #expect(try await old.run("set", "token", "\"four\"") == "done")
            try await upgrade(.key(key)) { router, report in
                let kept = try await quarantine(router)
                #expect(report.rows.map(\.state) == [.moved] && kept == [])
                try await router.remove(key)
            }
            #expect(try await old.run("get", "token") == "absent")
            #expect(try await old.run("set", "token", "\"five\"") == "done")
            try await expect(key, "five")
            #expect(try await old.run("remove", "token") == "done")
            try await upgrade(.key(key)) { router, _ in
                let (value, kept) = (try await router.value(for: key), try await quarantine(router))
                #expect(value == nil && kept == ["five"])
                try await router.set("six", for: key)
                try await router.endReleaseWindow(of: key)
            }
            #expect(try await old.run("get", "token") == "absent")
            try await expect(key, "six")
        }

        @Test func `version 1 writes a Boolean's old content anew in a release window, and that is the value`() async throws {
            let old = try OldProgram.start(stage)
            let key = testKey("new flag", .userDefaults(suite: "new"), of: Bool.self)
                .moved(from: testKey("flag", suite, of: Bool.self), keeping: .untilReleased)
            #expect(try await old.run("set", "flag", "true") == "done")
            try await upgrade(.key(key)) { router, _ in try await router.set(false, for: key) }
            #expect(try await old.run("get", "flag") == "false")
            #expect(try await old.run("set", "flag", "true") == "done")
            try await expect(key, true)
            #expect(try await old.run("set", "flag", "false") == "done")
            try await expect(key, false)
        }

        @Test func `a Foundation program takes part in a release window`() async throws {
            let key = textKey("town", .userDefaults(suite: "new")).moved(from: textKey("city", suite), keeping: .untilReleased)
            try await setDefault("city", "Oslo")
            try await upgrade(.key(key)) { router, _ in try await router.set("Rome", for: key) }
            #expect(try stage.propertyList(suite: "app")["city"] as? String == "Rome")
            for city in ["Oslo", "Graz"] {
                try await setDefault("city", city)
                try await expect(key, city)
            }
            try await upgrade(.key(key)) { router, _ in
                let kept = try await quarantine(router)
                #expect(kept == [])
            }
        }

        @Test func `version 1 reads data that version 2 sets in a release window`() async throws {
            let old = try OldProgram.start(stage)
            let key = testKey("image", .userDefaults(suite: "new"), of: Data.self)
                .moved(
                    from: testKey("picture", database, of: Data.self), keeping: .untilReleased,
                    options: MigrationOptions(allowsWeakerProtection: true))
            try await upgrade(.key(key)) { router, _ in try await router.set(Data([1, 2, 3]), for: key) }
            #expect(try await old.run("get", "picture") == "\"AQID\"")
            #expect(try await old.run("set", "picture", "\"BAUG\"") == "done")
            try await expect(key, Data([4, 5, 6]))
        }

        // MARK: A value that stays in its place

        @Test func `a value in one place goes from one version to the other and back, with a kill between`() async throws {
            let key = textKey("token", database)
            var old = try OldProgram.start(stage)
            #expect(try await old.run("set", "token", "\"one\"") == "done")
            await old.kill()
            try await launch { router in
                let value = try await router.get(key)
                #expect(value == "one")
                try await router.set("two", for: key)
            }
            old = try OldProgram.start(stage)
            #expect(try await old.run("get", "token") == "\"two\"")
            #expect(try await old.run("set", "token", "\"three\"") == "done")
            try await launch { router in
                let value = try await router.get(key)
                #expect(value == "three")
                try await router.remove(key)
            }
            #expect(try await old.run("get", "token") == "absent")
        }

        private struct Note: Codable { var title: String }
        private struct StarredNote: Codable, Equatable {
            var title: String
            var stars = 0
        }

        @Test func `version 1 does not read a later shape, and its set costs what only the later shape has`() async throws {
            let old = try OldProgram.start(stage)
            let key = testKey("note", database, of: StarredNote.self).evolving(
                Evolution.from(Note.self).to { StarredNote(title: $0.title) })
            #expect(try await old.run("set", "note", #"{"title":"a"}"#) == "done")
            try await upgrade(.key(key)) { router, report in
                #expect(report.rows.map(\.state) == [.converted])
                try await router.set(StarredNote(title: "b", stars: 5), for: key)
            }
            #expect(try await old.run("get", "note") == "error incompatibleSchema")
            try await expect(key, StarredNote(title: "b", stars: 5))
            // The cost: the record was one slot, and the older build replaces it without a look. The title is the new one, the stars are gone.
            #expect(try await old.run("set", "note", #"{"title":"c"}"#) == "done")
            try await upgrade(.key(key)) { router, report in
                let value = try await router.get(key)
                #expect(report.rows.map(\.state) == [.converted] && value == StarredNote(title: "c"))
            }
        }

        // MARK: A shape that is kept in its place

        private var note: StorageKey<StarredNote> {
            testKey("note", database, of: StarredNote.self).evolving(
                Evolution.from(Note.self).to {
                    StarredNote(title: $0.title)
                } down: {
                    Note(title: $0.title)
                }, keeping: .untilReleased, readableBy: 1
            ) { older, newer in
                StarredNote(title: older.title, stars: newer.stars)
            }
        }

        @Test func `version 1 reads and writes its own shape in a window, and version 2 keeps what only it knows`() async throws {
            var old = try OldProgram.start(stage)
            #expect(try await old.run("set", "note", #"{"title":"a"}"#) == "done")
            try await upgrade(.key(note)) { router, report in
                #expect(report.rows.map(\.state) == [.unchanged])
                try await router.set(StarredNote(title: "b", stars: 5), for: note)
            }
            for (before, after) in [("b", "c"), ("c", "d")] {
                #expect(try await old.run("get", "note") == #"{"title":"\#(before)"}"#)
                #expect(try await old.run("set", "note", #"{"title":"\#(after)"}"#) == "done")
                await old.kill()
                try await upgrade(.key(note)) { router, report in
                    let (value, kept) = (try await router.get(note), try await quarantine(router))
                    #expect(report.rows.map(\.state) == [.converted] && kept == [])
                    #expect(value == StarredNote(title: after, stars: 5))
                }
                old = try OldProgram.start(stage)
            }
            #expect(try await old.run("get", "note") == #"{"title":"d"}"#)
        }

        @Test func `what version 1 removes in a window is removed, and the newer shape does not bring it back`() async throws {
            let old = try OldProgram.start(stage)
            try await upgrade(.key(note)) { router, _ in try await router.set(StarredNote(title: "b", stars: 5), for: note) }
            #expect(try await old.run("remove", "note") == "done")
            #expect(try await old.run("get", "note") == "absent")
            try await upgrade(.key(note)) { router, report in
                let (value, kept) = (try await router.value(for: note), try await quarantine(router))
                #expect(report.rows.map(\.state) == [.resolved] && value == nil)
                #expect(kept == [#"{"stars":5,"title":"b"}"#])
            }
            #expect(try await old.run("set", "note", #"{"title":"c"}"#) == "done")
            try await expect(note, StarredNote(title: "c"))
        }

        @Test func `after the end of a window version 1 reads nothing, and its set costs what only the later shape has`() async throws {
            let old = try OldProgram.start(stage)
            try await upgrade(.key(note)) { router, _ in
                try await router.set(StarredNote(title: "b", stars: 5), for: note)
                try await router.endReleaseWindow(of: note)
            }
            #expect(try await old.run("get", "note") == "error incompatibleSchema")
            try await expect(note, StarredNote(title: "b", stars: 5))
            // The cost: an older build replaces a later version without a look, and nothing is kept beside it any more.
            #expect(try await old.run("set", "note", #"{"title":"c"}"#) == "done")
            try await upgrade(.key(note)) { router, _ in
                let value = try await router.get(note)
                #expect(value == StarredNote(title: "c"))
            }
        }

        private struct Feature: Codable, Equatable {
            var isOn: Bool
            var reason = "none"
        }

        @Test func `version 1 reads and writes a Boolean of a property list that is kept in its shape`() async throws {
            let old = try OldProgram.start(stage)
            let key = testKey("flag", suite, of: Feature.self).evolving(
                Evolution.from(Bool.self).to {
                    Feature(isOn: $0)
                } down: {
                    $0.isOn
                }, keeping: .untilReleased, readableBy: 1
            ) { older, newer in
                Feature(isOn: older.isOn, reason: newer.reason)
            }
            try await upgrade(.key(key)) { router, _ in try await router.set(Feature(isOn: false, reason: "too slow"), for: key) }
            #expect(try await old.run("get", "flag") == "false")
            #expect(try stage.propertyList(suite: "app")["flag"] as? Bool == false)
            for text in ["true", "false", "false"] {
                #expect(try await old.run("set", "flag", text) == "done")
                try await expect(key, Feature(isOn: text == "true", reason: "too slow"))
            }
            try await upgrade(.key(key)) { router, report in
                let kept = try await quarantine(router)
                #expect(report.rows.map(\.state) == [.converted] && kept == [])
            }
            #expect(try await old.run("get", "flag") == "false")
            #expect(try await old.run("remove", "flag") == "done")
            try await upgrade(.key(key)) { router, _ in
                let value = try await router.value(for: key)
                #expect(value == nil)
            }
        }

        // MARK: Data

        @Test func `version 1 does not decode data in their new form, leaves them, and its own form is read`() async throws {
            let old = try OldProgram.start(stage)
            let key = testKey("picture", database, of: Data.self)
            try await launch { try await $0.set(Data([1, 2, 3]), for: key) }
            #expect(try await old.run("get", "picture") == "error undecodable")
            try await expect(key, Data([1, 2, 3]))
            #expect(try await old.run("set", "picture", "\"BAUG\"") == "done")
            try await expect(key, Data([4, 5, 6]))
        }
    }

    /// The program that is linked against an earlier build.
    private enum OldProgram {
        /// Where it is; nil where it was not built.
        static var path: String? { ProcessInfo.processInfo.environment["LOCALDATA_OLD_PROGRAM"] }

        static func start(_ stage: Stage) throws -> RunningProgram { try RunningProgram(try #require(path), [stage.root.path]) }
    }
#endif
