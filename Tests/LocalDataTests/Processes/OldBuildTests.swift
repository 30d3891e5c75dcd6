#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Version 1 of a program, linked against an earlier build of this library, and a program that uses Foundation.
    ///
    /// Both programs write while version 2, which uses this build, is started and ended several times. In a release
    /// window, version 2 keeps the legacy location of a value up to date for the other programs.
    ///
    /// Foundation, and the earlier build `lists`, do not check the version of a value before they replace it. The tests
    /// show which values are overwritten then, and that no value is lost silently. Quarantine is the store for
    /// displaced values. `Scripts/check-old-build` builds the programs and runs the suite.
    @Suite(
        .inTurn, .slow("starts programs"), .tags(.process),
        .enabled(if: OldProgram.isBuilt, "Scripts/check-old-build builds the older program and runs this suite"))
    struct OldBuildTests {
        let stage: Stage
        let database = StorageDomain.encryptedSQLite(database: "main")
        let suite = StorageDomain.userDefaults(suite: "app")

        init() throws { stage = try Stage() }

        func launch(_ body: (StorageRouter) async throws -> Void) async throws {
            let router = stage.launch { $0.applicationID = "old.build" }
            do { try await body(router) } catch {
                try? await router.shutdown()
                throw error
            }
            try await router.shutdown()
        }

        /// Starts version 2, sweeps the key, runs the body and shuts the router down.
        func upgrade(_ key: AnyStorageKey, _ body: (StorageRouter, MigrationReport) async throws -> Void = { _, _ in }) async throws {
            try await launch { router in
                let report = try await router.registerCatalog(TestCatalog([key]), migrateImmediately: true)
                try report.requireComplete()
                try await body(router, report)
            }
        }

        /// Expects that this build reads a value.
        func expect<Value: Equatable>(_ key: StorageKey<Value>, _ expected: Value) async throws {
            try await launch { router in
                let value = try await router.get(key)
                #expect(value == expected)
            }
        }

        /// The contents of the quarantine, as sorted texts.
        func quarantine(_ router: StorageRouter) async throws -> [String] {
            var texts: [String] = []
            for entry in try await router.audit().quarantine {
                texts.append(String(decoding: try await router.quarantine.data(of: entry), as: UTF8.self))
            }
            return texts.sorted()
        }

        func setDefault(_ name: String, _ text: String) async throws {
            var environment = ProcessInfo.processInfo.environment
            environment["XDG_CONFIG_HOME"] = stage.preferences
            let worker = try RunningProgram(worker: "defaults", ["set-default", "app", name, text], environment: environment)
            let result = await worker.end()
            #expect(result.lines == ["true"], "\(result)")
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
        func `a value that version 1 sets after the move is a conflict, even if it is equal, and the losing value is quarantined`(
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
            // Version 1 writes the same content again. Its fingerprint equals that of the moved copy.
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

        @Test func `a value that version 1 sets after version 2 removed the key is quarantined, and the key stays removed`() async throws {
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

        @Test func `a value that a Foundation program writes at the legacy location after the move is quarantined`() async throws {
            let key = textKey("town", database).moved(from: textKey("city", suite))
            try await setDefault("city", "Oslo")
            try await upgrade(.key(key)) { router, report in
                #expect(report.rows.map(\.state) == [.moved])
                try await router.set("Rome", for: key)
            }
            // Foundation rewrites the whole file: first with the value that was moved, then with another value.
            for (city, lost) in [("Oslo", ["Oslo"]), ("Graz", ["Graz", "Oslo"])] {
                try await setDefault("city", city)
                try await upgrade(.key(key)) { router, _ in
                    let (value, kept) = (try await router.get(key), try await quarantine(router))
                    #expect(value == "Rome")
                    #expect(kept == lost)
                }
            }
        }

        @Test func `version 1, Foundation and version 2 change one property list in turn and read the latest values`() async throws {
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

        @Test func `version 1 and version 2 share one value in a release window, and no value is lost when the window ends`() async throws {
            let old = try OldProgram.start(stage, .databases)
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
                try await router.endReleaseWindow(for: key)
            }
            #expect(try await old.run("get", "token") == "absent")
            try await expect(key, "six")
        }

        @Test func `in a release window, a Boolean that version 1 sets back to its first value is the current value`() async throws {
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

        @Test func `in a release window, version 2 updates the value of a Foundation program and reads its later writes`() async throws {
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

        @Test func `version 1 and version 2 share a Data value in a release window`() async throws {
            let old = try OldProgram.start(stage, .databases)
            let key = testKey("image", .userDefaults(suite: "new"), of: Data.self)
                .moved(
                    from: testKey("picture", database, of: Data.self), keeping: .untilReleased,
                    options: MigrationOptions(allowsWeakerProtection: true))
            try await upgrade(.key(key)) { router, _ in try await router.set(Data([1, 2, 3]), for: key) }
            #expect(try await old.run("get", "picture") == "\"AQID\"")
            #expect(try await old.run("set", "picture", "\"BAUG\"") == "done")
            try await expect(key, Data([4, 5, 6]))
        }

        // MARK: A value that is not moved

        @Test func `version 1 and version 2 change one slot in turn and read the latest value, also after a kill`() async throws {
            let key = textKey("token", database)
            var old = try OldProgram.start(stage, .databases)
            #expect(try await old.run("set", "token", "\"one\"") == "done")
            await old.kill()
            try await launch { router in
                let value = try await router.get(key)
                #expect(value == "one")
                try await router.set("two", for: key)
            }
            old = try OldProgram.start(stage, .databases)
            #expect(try await old.run("get", "token") == "\"two\"")
            #expect(try await old.run("set", "token", "\"three\"") == "done")
            try await launch { router in
                let value = try await router.get(key)
                #expect(value == "three")
                try await router.remove(key)
            }
            #expect(try await old.run("get", "token") == "absent")
        }

        struct Note: Codable { var title: String }
        struct StarredNote: Codable, Equatable {
            var title: String
            var stars = 0
        }

        @Test func `version 1 neither reads nor replaces a value of a later schema version`()
            async throws
        {
            let old = try OldProgram.start(stage, .databases)
            let key = testKey("note", database, of: StarredNote.self).evolving(
                Evolution.from(Note.self).to { StarredNote(title: $0.title) })
            #expect(try await old.run("set", "note", #"{"title":"a"}"#) == "done")
            try await upgrade(.key(key)) { router, report in
                #expect(report.rows.map(\.state) == [.converted])
                try await router.set(StarredNote(title: "b", stars: 5), for: key)
            }
            #expect(try await old.run("get", "note") == "error incompatibleSchema")
            try await expect(key, StarredNote(title: "b", stars: 5))
            #expect(try await old.run("set", "note", #"{"title":"c"}"#) == "error incompatibleSchema")
            try await expect(key, StarredNote(title: "b", stars: 5))
        }

        // MARK: Data

        @Test func `an earlier build and this build read the Data values of each other`()
            async throws
        {
            let old = try OldProgram.start(stage, .databases)
            let key = testKey("picture", database, of: Data.self)
            try await launch { try await $0.set(Data([1, 2, 3]), for: key) }
            #expect(try await old.run("get", "picture") == "\"AQID\"")
            #expect(try await old.run("set", "picture", "\"BAUG\"") == "done")
            try await expect(key, Data([4, 5, 6]))
        }
    }

    /// The program that is linked against an earlier build of this library.
    enum OldProgram {
        /// An earlier build. Each is the first or the last build with a certain behavior of one kind of store.
        enum Build: String, CaseIterable {
            /// The last build without a version check: its program can replace a record of a later schema version.
            case lists = "LOCALDATA_OLD_PROGRAM"
            /// The first build that writes databases of format 1.
            case databases = "LOCALDATA_OLD_DATABASE_PROGRAM"

            /// The path of the program; nil if it was not built.
            var path: String? { ProcessInfo.processInfo.environment[rawValue] }
        }

        /// Whether the programs of all earlier builds were built.
        static var isBuilt: Bool { Build.allCases.allSatisfy { $0.path != nil } }

        static func start(_ stage: Stage, _ build: Build = .lists) throws -> RunningProgram {
            try RunningProgram(try #require(build.path), [stage.root.path])
        }
    }
#endif
