#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Tests of when a database is opened, when it is created, and when neither may happen.
    @Suite(.slow("goes through real files many times"), .inTurn) struct OpeningTests {
        // MARK: Reading creates nothing

        @Test func `reading a database that does not exist creates nothing, not even a folder`() async throws {
            let place = try Place()
            let store = place.store()
            #expect(try await store.read(StorageAddress("name")) == .absent)
            #expect(try await store.addresses(in: .values).isEmpty)
            #expect(await store.status() == .ready)
            #expect(try await store.apply(.delete(StorageAddress("name"))).isApplied)
            #expect(try await store.apply(.text("x", at: "name", if: .revision(StorageRevision([1])))) == .conflict(.absent))
            _ = try await store.synchronize()
            #expect(try await place.contents() == ["d ."])
            await store.close()
            #expect(!FileManager.default.fileExists(atPath: place.folder + "/data"))
            #expect(!FileManager.default.fileExists(atPath: place.folder + "/keys"))
        }

        // MARK: Broken links

        @Test(arguments: ["data", "data/store.sqlite"])
        func `a database behind a symbolic link without a target is unavailable, and no removal from it succeeds`(
            linked: String
        ) async throws {
            let place = try Place()
            let files = FileManager.default
            let first = place.store()
            try await first.put("x", at: "name")
            await first.close()
            // Take the disk with the target of the link away.
            let (link, disk, aside) = (place.folder + "/" + linked, place.folder + "/disk", place.folder + "/aside")
            try files.moveItem(atPath: link, toPath: aside)
            try files.createSymbolicLink(atPath: link, withDestinationPath: disk)
            let store = place.store()
            let error = try await #require(store.read(StorageAddress("name")).error, "an unknown value was reported as absent")
            #expect(error.code == .unavailable)
            #expect(error.reason.contains("\(link) is missing"))
            #expect(try await store.apply(.delete(StorageAddress("name"))).error?.code == .unavailable)
            #expect(try await store.apply(.text("y", at: "name")).error?.outcome == .notApplied)
            await store.close()
            #expect(try files.destinationOfSymbolicLink(atPath: link) == disk)
            // Bring the disk back.
            try files.moveItem(atPath: aside, toPath: disk)
            let next = place.store()
            #expect(try await next.text("name") == "x")
            await next.close()
        }

        // MARK: Closing

        @Test(.timeLimit(.minutes(5))) func `a store that is released without being closed closes its files and keeps its log`()
            async throws
        {
            let place = try Place()
            try await Self.useAndRelease(place)
            // The lane may hold the last reference for a moment after the answer.
            while try !Self.openFiles(place.path).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            #expect(place.logLength > 0)
            let next = place.store()
            #expect(try await next.text("name") == "x")
            await next.close()
        }

        @Test(.timeLimit(.minutes(5))) func `a store closes although another process holds the lock, and its log stays`() async throws {
            let place = try Place()
            let clock = ManualClock()
            let store = place.store(deadline: .seconds(10), runtime: .live(clock: clock))
            try await store.put("x", at: "name")
            let holder = try place.probe("hold-lock")
            #expect(try await holder.line() == "holding lock")
            try await clock.passing { await store.close() }
            // The store drops its connections a moment before they are closed.
            while try !Self.openFiles(place.path).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            #expect(place.logLength > 0)
            #expect(try await holder.ask("go on") == "released lock")
            let next = place.store()
            #expect(try await next.text("name") == "x")
            await next.close()
        }

        @Test(.timeLimit(.minutes(5)))
        func `a store that is closed while its disk hangs still has open files, and closes them once the disk responds`() async throws {
            let place = try Place()
            let (lane, clock) = (TestLane(), ManualClock())
            let store = place.store(deadline: .seconds(10), runtime: .live(clock: clock, lane: lane))
            try await store.put("x", at: "name")
            lane.hold()
            try await clock.passing { await store.close() }
            #expect(store.hasOpenFiles)
            lane.release()
            // The store drops its connections a moment before they are closed.
            while try store.hasOpenFiles || !Self.openFiles(place.path).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        }

        @Test func `a call that began before the store was locked leaves no file open`() async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("x", at: "name")
            await store.lock(within: .seconds(600))
            #expect(!store.hasOpenFiles)
            #expect(try await store.recipients().count == 1)
            #expect(try !store.hasOpenFiles && Self.openFiles(place.path).isEmpty)
            for await _ in store.foreignChanges() { break }
            #expect(try !store.hasOpenFiles && Self.openFiles(place.path).isEmpty)
            #expect(try await store.synchronize() == .durable)
            #expect(try !store.hasOpenFiles && Self.openFiles(place.path).isEmpty)
        }

        @Test func `a list that began before the store was locked opens nothing after it`() async throws {
            let place = try Place()
            let lane = TestLane()
            var runtime = Runtime.live
            runtime.makeLane = { [makeLane = runtime.makeLane] in $0.hasSuffix(".scan") ? lane.named($0) : makeLane($0) }
            let store = place.store(runtime: runtime)
            try await store.put("x", at: "name")
            lane.hold()
            let listed = Task { try await store.addresses(in: .values).count }
            await lane.untilHeld(1)
            await store.lock(within: .seconds(600))
            lane.release()
            await #expect(throws: BackendError.self) { try await listed.value }
            #expect(try Self.openFiles(place.path).isEmpty)
        }

        /// Opens every kind of connection: the writer, both readers, and the connection for lists.
        private static func useAndRelease(_ place: Place) async throws {
            let store = place.store()
            #expect(try await store.apply(.text("x", at: "name")).isApplied)
            await withTaskGroup { group in
                for _ in 0..<64 { group.addTask { _ = try? await store.read(StorageAddress("name")) } }
            }
            #expect(try await store.addresses(in: .values).count == 1)
            #expect(try !openFiles(place.path).isEmpty)
        }

        /// Returns the files of a database that this process has open.
        private static func openFiles(_ path: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
                .filter { $0.hasPrefix(path) }
        }

        // MARK: Wrong keys

        /// The ways in which a key can be wrong.
        enum Wrong: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case missing, locked, other, sameName, short, empty, garbage, foreign, folder, readable, writable
            var testDescription: String { rawValue }

            var code: BackendError.Code {
                switch self {
                case .missing: .encryptionKeyMissing
                case .locked: .locked
                case .readable, .writable: .accessDenied
                case .folder: .failed
                default: .encryptionKeyMismatch
                }
            }
        }

        private func spoil(_ place: Place, _ wrong: Wrong) throws {
            let files = FileManager.default
            let key = try String(contentsOfFile: place.keyPath, encoding: .utf8)
            func replace(_ text: String) throws {
                try Data(text.utf8).write(to: URL(filePath: place.keyPath))
                try setPermissions(0o600, of: place.keyPath)
            }
            let other = SealingKey.random(Runtime.live.randomBytes)
            switch wrong {
            case .missing: try files.removeItem(atPath: place.keyPath)
            case .locked: return
            case .other: try replace(other.text + "\n")
            case .sameName: try replace(other.text(claiming: try SealingKey(text: key)) + "\n")
            case .short: try replace(String(key.dropLast(9)) + "\n")
            case .empty: try replace("")
            case .garbage: try replace("\u{0}\u{1}garbage\n\n")
            case .foreign: try replace("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n")
            case .folder:
                try files.removeItem(atPath: place.keyPath)
                try files.createDirectory(atPath: place.keyPath, withIntermediateDirectories: false)
            case .readable: try setPermissions(0o640, of: place.keyPath)
            case .writable: try setPermissions(0o602, of: place.keyPath)
            }
        }

        @Test(arguments: Wrong.allCases)
        func `with a wrong key nothing is read, changed or created, and the store works once the key is right`(
            wrong: Wrong
        ) async throws {
            let place = try Place()
            let first = place.store()
            try await first.put("secret", at: "name")
            await first.close()
            let keyText = try String(contentsOfFile: place.keyPath, encoding: .utf8)
            try spoil(place, wrong)
            let before = try await place.contents()

            let locked = LockedSource(place.keyFile())
            let store = place.store(source: wrong == .locked ? locked : nil)
            let address = StorageAddress("name")
            for _ in 0..<2 {
                let probes = try await store.read([address, StorageAddress("other")], .fresh)
                let results = try await store.apply([.text("new", at: "name"), .delete(StorageAddress("other"))])
                if wrong == .locked {
                    #expect(probes == [.locked, .locked])
                    #expect(results == [.locked, .locked])
                    #expect(await store.status() == .locked)
                } else {
                    #expect(probes.map(\.error?.code) == [wrong.code, wrong.code])
                    #expect(results.map(\.error?.code) == [wrong.code, wrong.code])
                    #expect(results.map(\.error?.outcome) == [.notApplied, .notApplied])
                    let error = try await #require(store.status().error, "the store says that it is ready")
                    #expect(error.code == wrong.code)
                    #expect(!error.reason.contains("secret") && !error.reason.contains(keyText.split(separator: " ")[2]))
                }
                #expect(try await store.apply(.text("new", at: "name", if: .absent)).isApplied == false)
                #expect(try await store.apply(.delete(address)).isApplied == false)
                let listing = await failure { () throws(BackendError) in try await store.addresses(in: .values) }
                #expect(listing?.code == wrong.code)
            }
            #expect(try await place.contents() == before)

            // Restore the right key.
            if wrong == .folder { try FileManager.default.removeItem(atPath: place.keyPath) }
            try Data(keyText.utf8).write(to: URL(filePath: place.keyPath))
            try setPermissions(0o600, of: place.keyPath)
            if wrong == .locked { try await store.unlock() }
            #expect(try await store.text("name") == "secret")
            try await store.put("newer", at: "name")
            await store.close()
            #expect(try await place.check() == 1)
        }

        @Test func `no database is created while values elsewhere are sealed with a key that the key source does not have`() async throws {
            let place = try Place()
            let sealedElsewhere: Set<[UInt8]> = [[1, 2, 3, 4, 5, 6, 7, 8]]
            let store = place.store { () throws(BackendError) in sealedElsewhere }
            #expect(try await store.apply(.text("x", at: "name")).error?.code == .encryptionKeyMissing)
            #expect(try await place.contents() == ["d ."])

            // The source now has a key, but not the one that sealed the values.
            _ = try await place.keyFile().create(SourceKeys(only: .random(Runtime.live.randomBytes)))
            let before = try await place.contents()
            #expect(try await store.apply(.text("x", at: "name")).error?.code == .encryptionKeyMismatch)
            #expect(try await place.contents() == before)

            // If the ids of the sealed values cannot be determined, no database is created either.
            let blind = place.store { () throws(BackendError) in throw BackendError(.failed, "nobody knows") }
            #expect(try await blind.apply(.text("x", at: "name")).error?.code == .failed)
            #expect(try await place.contents() == before)
        }

        @Test func `opening a database with another key source fails, and the error has the expected and the given source`() async throws {
            let place = try Place()
            let first = place.store()
            try await first.put("v", at: "name")
            await first.close()
            // Even the same key is refused under the name of another source.
            try FileManager.default.copyItem(atPath: place.keyPath, toPath: place.folder + "/keys/another.key")
            let before = try await place.contents()
            let store = place.store(source: place.keyFile("another.key"))
            let results = try await [store.read(StorageAddress("name")).error, store.apply(.text("x", at: "name")).error]
            for error in results {
                #expect(error?.code == .encryptionKeyMismatch)
                #expect(error?.reason.contains("\"key file key\"") == true)
                #expect(error?.reason.contains("\"key file another.key\"") == true)
            }
            #expect(try await place.contents() == before)
            #expect(try await place.store().text("name") == "v")
        }

        // MARK: Processes that begin together

        @Test(.timeLimit(.minutes(10))) func `processes that create a database at the same time get one key and keep every value`()
            async throws
        {
            let processes = 10
            for round in 0..<3 {
                let place = try Place()
                let probes = try (0..<processes).map { try place.probe("create", ["value\($0)"]) }
                for probe in probes { #expect(try await probe.line() == "ready") }
                for probe in probes { try probe.send("go") }
                for probe in probes { #expect(try await probe.line() == "applied", "round \(round)") }
                for probe in probes { _ = await probe.end() }
                let store = place.store()
                for number in 0..<processes { #expect(try await store.text("value\(number)") == "value\(number)", "round \(round)") }
                await store.close()
                let keyset = try SealedDatabase(path: place.path, keyFile: place.keyPath).keyset()
                #expect(keyset.decryptOnly.isEmpty && keyset.destroyed.isEmpty)
                #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder + "/keys") == ["key"])
                let files = try FileManager.default.contentsOfDirectory(atPath: place.folder + "/data")
                #expect(Set(files).isSubset(of: ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-lock"]), "\(files)")
                #expect(try await place.check() == processes)
            }
        }

        // MARK: Names

        @Test(arguments: [
            "a", "documents", "Documents-2", "com.example.app", "a..b", "x_y", "0", "A.sqlite", String(repeating: "n", count: 200),
        ]) func `a valid database name is accepted`(name: String) throws {
            try SQLiteStore.validateName(name)
            #expect(try SQLiteStore.path(ofDatabase: name, in: "/d") == "/d/\(name).sqlite")
        }

        @Test(arguments: [
            "", ".", "..", ".hidden", "-x", "a/b", "/etc/passwd", "../up", "a\\b", "file:x", "a?mode=memory", ":memory:", "a b", "a\n",
            "a\u{0}",
            "é", "e\u{301}", "a%2fb", "a#b", "Ⅷ", "ａ", String(repeating: "n", count: 201),
        ]) func `an invalid database name is refused`(name: String) async throws {
            let error = await failure { () throws(BackendError) in try SQLiteStore.path(ofDatabase: name, in: "/d") }
            #expect(error?.code == .invalidName)
        }
    }
#endif
