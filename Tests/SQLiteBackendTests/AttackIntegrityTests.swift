#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import Synchronization
    import TestSupport
    import Testing

    /// Attacks with genuine but outdated rows and labels.
    /// Reading one name cannot detect them. An integrity check of the whole database detects each of them.
    /// A label is a keyed hash of an attribute, by which a query finds rows without decrypting them.
    /// The count of a label has the number of its entries and a sum of their hashes, encrypted.
    /// The state of a database is the encrypted record of its number of commits and of all rows.
    extension Attacks {
        @Suite struct Integrity {
            private let place: Place
            private let older: [RawRecord]
            private let latest: [RawRecord]
            private let olderState: Data
            private let latestState: Data

            /// Makes two states of a database.
            /// In the later one every row was changed, one row was removed and one was added.
            init() async throws {
                place = try Place()
                func content(_ turn: Int) -> [StorageMutation] {
                    (0..<8).map { number in
                        let address =
                            number < 4 ? StorageAddress("plain \(number)") : StorageAddress("\(number)", in: StorageNamespace("shelf"))
                        let metadata = StorageMetadata(
                            typeTag: number < 6 ? "note" : "task", modifiedAt: Double(turn) * 90_000, attributes: ["turn": "\(turn)"])
                        return number == 3 ? .tombstone(metadata, at: address) : .put(.bytes([UInt8(turn)]), metadata, at: address)
                    }
                }
                let store = place.store()
                #expect(try await store.apply(content(1) + [.text("gone", at: "only older")]).allSatisfy { $0.isApplied })
                await store.close()
                let path = place.path
                (older, olderState) = try Self.contents(path)
                let again = place.store()
                #expect(
                    try await again.apply(content(2) + [.delete(StorageAddress("only older")), .text("new", at: "only later")]).allSatisfy {
                        $0.isApplied
                    })
                await again.close()
                (latest, latestState) = try Self.contents(path)
            }

            private static func contents(_ path: String) throws -> ([RawRecord], Data) {
                let database = try PlainDatabase(path: path)
                return (try RawRecord.all(database), try #require(try database.value("SELECT sealed FROM state")?.blob))
            }

            private func write<R>(_ body: (PlainDatabase) throws -> R) throws -> R {
                let database = try PlainDatabase(path: place.path)
                try database.execute("PRAGMA synchronous = OFF")
                return try database.transaction(body)
            }

            private func put(_ rows: [RawRecord], state: Data? = nil) throws {
                try write { database in
                    try database.execute("DELETE FROM records")
                    for row in rows { try row.insert(database) }
                    try database.execute("DELETE FROM state")
                    if let state { try database.execute("INSERT INTO state VALUES (1, ?)", [state]) }
                }
            }

            /// Runs an integrity check with a new store that has cached nothing.
            private func verify() async throws -> IntegrityReport {
                let store = place.store()
                let report = try await store.verifyIntegrity { _ in }
                await store.close()
                return try #require(report)
            }

            @Test func `every row that is replaced by an older one, removed, copied, moved or added is detected`() async throws {
                let sound = try await verify()
                #expect(sound.isSound && sound.rows == 9 && sound.expectedRows == 9 && sound.commits == 2, "\(sound)")
                var (attacks, missed) = (0, 0)
                func attack(_ rows: [RawRecord], _ what: String) async throws {
                    try put(rows, state: latestState)
                    attacks += 1
                    let report = try await verify()
                    if report.isSound { missed += 1 }
                    #expect(!report.isSound, "\(what)")
                    // Later writes must not hide the attack.
                    let store = place.store()
                    try await store.put("later", at: "written after the attack")
                    #expect(try await store.apply(.delete(StorageAddress("written after the attack"))).isApplied)
                    await store.close()
                    if try await verify().isSound { missed += 1 }
                }
                for row in latest {
                    let others = latest.filter { $0 != row }
                    try await attack(others, "\(row.id) removed")
                    if let old = older.first(where: { $0.slot == row.slot }) {
                        try await attack(others + [old], "\(row.id) replaced by an older one")
                    }
                    var copy = row
                    copy.id = row.id == .max ? row.id - 1 : row.id + 1
                    try await attack(latest + [copy], "\(row.id) twice")
                    try await attack(others + [copy], "\(row.id) moved")
                }
                for row in older where !latest.contains(where: { $0.id == row.id }) {
                    try await attack(latest + [row], "\(row.id) came back")
                }
                try await attack(older, "all rows of the older file")
                try await attack([], "no rows")
                try put(latest, state: olderState)
                #expect(try await !verify().areRowsWhole, "an older state beside the latest rows")
                for damage in [nil, Data(), latestState.prefix(60), Data(count: 89), Data(count: 121)] as [Data?] {
                    try put(latest, state: damage)
                    await #expect(throws: BackendError.self) { try await verify() }
                }
                try put(latest, state: latestState)
                try write { try $0.execute("INSERT INTO state VALUES (2, ?)", [olderState]) }
                #expect(try await verify().commits == nil, "two states")
                try put(latest, state: latestState)
                #expect(try await verify() == sound)
                print("rows replaced, removed, copied, moved, added: \(attacks) attacks, \(missed) missed")
                #expect(missed == 0)
            }

            @Test func `as documented, an older copy of the whole file passes the integrity check`() async throws {
                try put(older, state: olderState)
                let report = try await verify()
                // The labels here are still those of the later file, so only the rows are checked.
                // In a restored file the labels are older, too.
                #expect(report.areRowsWhole && report.commits == 1 && report.rows == 9)
            }

            @Test func `an integrity check detects labels that are removed together with their count, or restored from an older file`()
                async throws
            {
                let (labels, counts) = try write { database in
                    (try database.rows("SELECT label, slot FROM labels"), try database.rows("SELECT label, sealed FROM counts"))
                }
                #expect(labels.count > 8 && counts.count > 3)
                for label in Set(labels.compactMap { $0[0].blob }) {
                    let own = labels.filter { $0[0].blob == label }.compactMap { $0[1].blob }
                    let count = try #require(counts.first { $0[0].blob == label }?[1].blob)
                    try write { database in
                        try database.execute("DELETE FROM labels WHERE label = ?", [label])
                        try database.execute("DELETE FROM counts WHERE label = ?", [label])
                    }
                    #expect(try await verify().damagedLabels > 0)
                    try write { database in
                        for slot in own { try database.execute("INSERT INTO labels VALUES (?, ?)", [label, slot]) }
                        try database.execute("INSERT INTO counts VALUES (?, ?)", [label, count])
                    }
                }
                #expect(try await verify().isSound)
                // Remove a value, then restore its labels with their earlier counts.
                let store = place.store()
                #expect(try await store.apply(.delete(StorageAddress("7", in: StorageNamespace("shelf")))).isApplied)
                await store.close()
                #expect(try await verify().isSound)
                try write { database in
                    try database.execute("DELETE FROM labels; DELETE FROM counts")
                    for row in labels {
                        try database.execute("INSERT INTO labels VALUES (?, ?)", [try #require(row[0].blob), try #require(row[1].blob)])
                    }
                    for row in counts {
                        try database.execute("INSERT INTO counts VALUES (?, ?)", [try #require(row[0].blob), try #require(row[1].blob)])
                    }
                }
                let report = try await verify()
                #expect(report.damagedLabels > 0 && report.areRowsWhole && !report.isSound)
            }

            @Test func `a database that lost a row and its state is refused until its contents are accepted, and is then sound`()
                async throws
            {
                try put(Array(latest.dropFirst()), state: nil)
                await #expect(throws: BackendError.self) { try await verify() }
                let store = place.store()
                try await store.acceptContents()
                #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
                try await store.put("more", at: "more")
                #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
                await store.close()
                try await place.check("accepted")
                // Without a state, the number of commits starts again: accepting the contents and one change make 2.
                // With a state, as below, accepting the contents adds one to its number.
                #expect(try await verify().commits == 2)
                try put(latest, state: latestState)
                let again = place.store()
                try await again.acceptContents()
                await again.close()
                let report = try await verify()
                #expect(report.isSound && report.commits == 3)
                try await place.check("accepted again")
            }

            @Test func `an integrity check reads one snapshot, reports its progress, and finds damaged rows`() async throws {
                let store = place.store()
                let progress = Shared<[IntegrityProgress]>([])
                try await withThrowingTaskGroup { group in
                    group.addTask { for number in 0..<60 { try await store.put("\(number)", at: "n\(number % 7)") } }
                    group.addTask {
                        for _ in 0..<12 {
                            let report = try await store.verifyIntegrity { done in progress.value.withLock { $0.append(done) } }
                            #expect(report?.isSound == true)
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(progress.value.withLock { $0.count >= 24 && $0.allSatisfy { $0.checked <= $0.total && $0.total >= 9 } })
                #expect(progress.value.withLock { $0.last.map { $0.checked == $0.total } } == true)
                await store.close()
                try write { try $0.execute("UPDATE records SET sealed = zeroblob(300) WHERE id = ?", [latest[0].id]) }
                let report = try await verify()
                #expect(report.damagedRows == 1 && !report.areRowsWhole)
                let empty = try Place()
                let none = empty.store()
                #expect(try await none.verifyIntegrity { _ in } == nil)
                #expect(!empty.exists)
            }
        }
    }
#endif
