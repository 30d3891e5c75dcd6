#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// A shape that is kept in its place, between an earlier build and this one.
    extension OldBuildTests {
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

        @Test func `version 1 reads and writes its own shape in a window, and version 2 keeps what only it knows`()
            async throws
        {
            var old = try OldProgram.start(stage, .databases)
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
                old = try OldProgram.start(stage, .databases)
            }
            #expect(try await old.run("get", "note") == #"{"title":"d"}"#)
        }

        @Test func `what version 1 removes in a window is removed, and the newer shape does not bring it back`()
            async throws
        {
            let old = try OldProgram.start(stage, .databases)
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

        @Test func `after the end of a window version 1 neither reads nor replaces the value`()
            async throws
        {
            let old = try OldProgram.start(stage, .databases)
            try await upgrade(.key(note)) { router, _ in
                try await router.set(StarredNote(title: "b", stars: 5), for: note)
                try await router.endReleaseWindow(of: note)
            }
            #expect(try await old.run("get", "note") == "error incompatibleSchema")
            try await expect(note, StarredNote(title: "b", stars: 5))
            #expect(try await old.run("set", "note", #"{"title":"c"}"#) == "error incompatibleSchema")
            try await expect(note, StarredNote(title: "b", stars: 5))
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
    }
#endif
