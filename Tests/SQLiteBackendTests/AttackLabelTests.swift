#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Attacks on the table of labels. A label is a keyed hash of an attribute.
    /// An entry of the table leads a query from a label to a row.
    /// The count of a label has the number of its entries and a sum of their hashes, encrypted.
    /// A page is a part of the result of a query. It may report damage, or lack a value whose entry was deleted.
    /// It never has a value that does not match the query. The last page says whether the result is complete.
    /// A handle identifies a damaged row, whose name is unknown.
    extension Attacks {
        @Suite struct Labels {
            private let place: Place
            private let expected: [StorageAddress: StorageMetadata]

            init() async throws {
                place = try Place()
                let store = place.store()
                var expected: [StorageAddress: StorageMetadata] = [:]
                for number in 0..<6 {
                    let metadata = StorageMetadata(
                        typeTag: number < 3 ? "note" : "task", modifiedAt: Double(number % 3) * 86_400, attributes: ["n": "\(number % 2)"])
                    let address = StorageAddress("\(number)", in: shelf)
                    expected[address] = metadata
                    #expect(try await store.apply(.put(.bytes([1]), metadata, at: address)).isApplied)
                }
                let elsewhere = StorageAddress("elsewhere", in: StorageNamespace("other"))
                #expect(try await store.apply(.put(.bytes([1]), StorageMetadata(typeTag: "note"), at: elsewhere)).isApplied)
                #expect(try await store.apply(.put(.bytes([1]), StorageMetadata(typeTag: "note"), at: StorageAddress("plain"))).isApplied)
                #expect(try await store.apply(.tombstone(at: StorageAddress("removed", in: shelf))).isApplied)
                await store.close()
                self.expected = expected
            }

            private static let questions: [[StorageQuery.Condition]] = [
                [], [.typeTag("note")], [.attribute("n", "1")], [.modified(since: 86_400)], [.typeTag("task"), .modified(since: 86_400)],
            ]

            /// The number of queries with each result: all values, damage, or some values missing without a report.
            private struct Tally: Equatable {
                var right = 0
                var damaged = 0
                var short = 0
            }

            /// Runs all queries on a new store that has cached nothing.
            private func ask(_ comment: String) async throws -> Tally {
                let store = place.store()
                var tally = Tally()
                for conditions in Self.questions {
                    let query = StorageQuery(shelf, conditions)
                    let right = Set(expected.filter { query.matches($0.value) }.map(\.key))
                    let (entries, damaged) = try await store.everythingAndDamage(query, limit: 2)
                    let found = Set(entries.map(\.address))
                    #expect(found.count == entries.count && found.isSubset(of: right), "\(comment): \(conditions)")
                    for entry in entries { #expect(entry.record?.metadata == expected[entry.address], "\(comment)") }
                    #expect(Set(damaged.map(\.handle)).count == damaged.count, "\(comment)")
                    if !damaged.isEmpty { tally.damaged += 1 } else if found == right { tally.right += 1 } else { tally.short += 1 }
                }
                for address in expected.keys { #expect(try await store.read(address).record != nil, "\(comment)") }
                await store.close()
                return tally
            }

            private struct Entry: Hashable {
                let label: Data
                let slot: Data
            }

            private func write<R>(_ body: (PlainDatabase) throws -> R) throws -> R {
                try SealedDatabase(path: place.path, keyFile: place.keyPath).write(body)
            }

            private func entries() throws -> [Entry] {
                try write { try $0.rows("SELECT label, slot FROM labels") }.map {
                    Entry(label: try #require($0[0].blob), slot: try #require($0[1].blob))
                }
            }

            private func restore(_ entries: [Entry]) throws {
                try write { database in
                    try database.execute("PRAGMA synchronous = OFF")
                    try database.transaction { database in
                        try database.execute("DELETE FROM labels")
                        for entry in entries { try database.execute("INSERT INTO labels VALUES (?, ?)", [entry.label, entry.slot]) }
                    }
                }
            }

            @Test func `a deleted entry of the label table is reported as damage by the queries that need it`() async throws {
                let whole = try entries()
                #expect(try await ask("untouched") == Tally(right: 5))
                var damaged = 0
                for (number, entry) in whole.enumerated() {
                    try restore(whole.enumerated().filter { $0.offset != number }.map(\.element))
                    let tally = try await ask("without \(number)")
                    #expect(tally.short == 0 && tally.damaged <= 2, "\(entry)")
                    damaged += tally.damaged
                }
                // Each value has an entry under four labels: namespace, type, attribute and day.
                // The queries use the labels of the namespace and of both types, but not of every attribute and day.
                #expect(damaged >= 15)
            }

            /// Returns the count that a new store reports for a query, or `nil` if it reports damage.
            private func count(_ conditions: [StorageQuery.Condition] = []) async throws -> Int? {
                let store = place.store()
                var count: Int?
                do throws(BackendError) { count = try await store.count(StorageQuery(shelf, conditions)) } catch {
                    #expect(error.code == .corrupted)
                }
                await store.close()
                return count
            }

            @Test func `if labels or counts are forged, deleted or exchanged, counting reports damage or the right number`() async throws {
                #expect(try await count() == 6)
                #expect(try await count([.typeTag("note")]) == 3)
                let attacks = [
                    "INSERT INTO labels SELECT label, randomblob(16) FROM labels, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)",
                    "INSERT OR IGNORE INTO labels SELECT a.label, b.slot FROM labels AS a, labels AS b",
                    "DELETE FROM labels WHERE slot <> (SELECT min(slot) FROM labels)", "DELETE FROM labels",
                    "DELETE FROM counts", "UPDATE counts SET sealed = zeroblob(80)", "UPDATE counts SET sealed = substr(sealed, 1, 79)",
                    "UPDATE counts SET sealed = (SELECT min(sealed) FROM counts)", "UPDATE counts SET label = randomblob(16)",
                ]
                let tables = try write { database in
                    (
                        try database.rows("SELECT label, slot FROM labels").map { ($0[0].blob ?? Data(), $0[1].blob ?? Data()) },
                        try database.rows("SELECT label, sealed FROM counts").map { ($0[0].blob ?? Data(), $0[1].blob ?? Data()) }
                    )
                }
                for attack in attacks {
                    try write { try $0.execute(attack) }
                    let (all, notes) = (try await count(), try await count([.typeTag("note")]))
                    // One attack gives all labels the same sealed count, which is genuine for one of them.
                    // One of the two results may therefore be right, but not both.
                    #expect(all == nil || all == 6, "\(attack): \(String(describing: all))")
                    #expect(notes == nil || notes == 3, "\(attack): \(String(describing: notes))")
                    #expect(all == nil || notes == nil, "\(attack)")
                    try write { database in
                        try database.execute("DELETE FROM labels; DELETE FROM counts")
                        for entry in tables.0 { try database.execute("INSERT INTO labels VALUES (?, ?)", [entry.0, entry.1]) }
                        for entry in tables.1 { try database.execute("INSERT INTO counts VALUES (?, ?)", [entry.0, entry.1]) }
                    }
                    #expect(try await count() == 6)
                }
            }

            @Test func `the last page of a query is marked as complete only if every entry was read`() async throws {
                func complete(_ limit: Int, _ conditions: [StorageQuery.Condition]) async throws -> [Bool] {
                    let store = place.store()
                    var (flags, cursor): ([Bool], StorageCursor?) = ([], nil)
                    repeat {
                        let page = try await store.page(StorageQuery(shelf, conditions), after: cursor, limit: limit)
                        flags.append(page.isComplete)
                        cursor = page.next
                    } while cursor != nil
                    await store.close()
                    return flags
                }
                for conditions in Self.questions {
                    for limit in [1, 2, 100] {
                        let flags = try await complete(limit, conditions)
                        #expect(flags.last == true && !flags.dropLast().contains(true), "\(conditions), \(limit)")
                    }
                }
                let slot = Data(try SealedDatabase(path: place.path, keyFile: place.keyPath).slot(StorageAddress("0", in: shelf)))
                try write { try $0.execute("DELETE FROM labels WHERE slot = ?", [slot]) }
                for limit in [1, 100] { #expect(try await complete(limit, []).last == false) }
            }

            @Test func `after a change between two pages, the last page is not marked as complete, but reports no damage`() async throws {
                let store = place.store()
                let query = StorageQuery(shelf)
                let first = try await store.page(query, after: nil, limit: 3)
                #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("new", in: shelf))).isApplied)
                #expect(try await store.apply(.delete(try #require(first.entries.first?.address))).isApplied)
                var (cursor, last) = (first.next, first)
                while let next = cursor {
                    last = try await store.page(query, after: next, limit: 3)
                    cursor = last.next
                    #expect(last.damaged.isEmpty)
                }
                #expect(!last.isComplete)
                #expect(try await store.count(query) == 6)
                await store.close()
            }

            @Test func `removing the reported damage of labels rebuilds the labels from the rows`() async throws {
                for attack in ["DELETE FROM labels", "DELETE FROM counts", "UPDATE labels SET slot = randomblob(16)"] {
                    try write { try $0.execute(attack) }
                    let store = place.store()
                    let query = StorageQuery(shelf)
                    // Adding a value before the repair does not hide the damage. The value is removed after the repair.
                    #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("more", in: shelf))).isApplied)
                    let handles = try await store.everythingAndDamage(query).damaged.map(\.handle)
                    #expect(!handles.isEmpty, "\(attack)")
                    for handle in handles.reversed() { _ = try await store.deleteDamage(at: handle) }
                    #expect(try await store.apply(.delete(StorageAddress("more", in: shelf))).isApplied)
                    #expect(try await store.count(query) == 6, "\(attack)")
                    for conditions in Self.questions {
                        let query = StorageQuery(shelf, conditions)
                        let (entries, damaged) = try await store.everythingAndDamage(query)
                        #expect(
                            damaged.isEmpty && Set(entries.map(\.address)) == Set(expected.filter { query.matches($0.value) }.map(\.key)))
                    }
                    await store.close()
                    _ = try await Reader.dump(place.path, place.keyPath)
                }
            }

            @Test func `an added entry under a wrong label or for a wrong slot is reported as damage or has no effect`()
                async throws
            {
                let whole = try entries()
                let slots = Set(whole.map(\.slot))
                let labels = Set(whole.map(\.label))
                var damaged = 0
                for (number, label) in labels.enumerated() {
                    for slot in Array(slots)[...] + [Data(repeating: 7, count: 16)] where !whole.contains(Entry(label: label, slot: slot)) {
                        guard (number &* 31 &+ Int(slot.last ?? 0)) % 4 == 0 || slot.first == 7 else { continue }
                        try restore(whole + [Entry(label: label, slot: slot)])
                        let tally = try await ask("a foreign entry")
                        #expect(tally.short == 0)
                        damaged += tally.damaged
                    }
                }
                #expect(damaged > 8)
            }

            @Test func `exchanged and malformed labels are detected`() async throws {
                let whole = try entries()
                let labels = Array(Set(whole.map(\.label)))
                var damaged = 0
                for (one, other) in zip(labels, labels.dropFirst()) {
                    try restore(
                        whole.map { Entry(label: $0.label == one ? other : $0.label == other ? one : $0.label, slot: $0.slot) })
                    damaged += try await ask("labels that changed places").damaged
                }
                #expect(damaged >= 5)
                for sql in [
                    "UPDATE labels SET slot = CAST(slot AS TEXT)", "UPDATE labels SET slot = substr(slot, 1, 15)",
                    "UPDATE labels SET slot = slot || x'00'",
                ] {
                    try restore(whole)
                    try write { try $0.execute(sql) }
                    let tally = try await ask(sql)
                    #expect(tally.right == 0)
                }
            }

            @Test func `a database is refused if its label table is missing or changed, or if its header does not declare the table`()
                async throws
            {
                for sql in [
                    "DROP TABLE labels", "UPDATE header SET value = x'' WHERE name = 'features'",
                    "DROP TABLE labels; CREATE TABLE labels (label BLOB, slot BLOB)",
                    "CREATE INDEX by_slot ON labels (slot)",
                    "CREATE TRIGGER hide AFTER INSERT ON labels BEGIN DELETE FROM labels; END",
                ] {
                    let other = try await Labels()
                    let open = other.place.store()
                    #expect(try await open.everything(StorageQuery(shelf)).count == 6)
                    try other.write { try $0.execute(sql) }
                    for store in [open, other.place.store()] {
                        let error = await failure { () throws(BackendError) in
                            try await store.page(StorageQuery(shelf), after: nil, limit: 9)
                        }
                        #expect([.corrupted, BackendError.Code("incompatibleSchema")].contains(error?.code), "\(sql)")
                        let result = try await store.apply(.put(.bytes([1]), at: StorageAddress("0", in: shelf)))
                        #expect(!result.isApplied, "\(sql)")
                        await store.close()
                    }
                }
            }

            @Test func `a query reports a missing or damaged row with a handle, until the row is deleted or replaced`() async throws {
                let store = place.store()
                let address = StorageAddress("2", in: shelf)
                let database = try SealedDatabase(path: place.path, keyFile: place.keyPath)
                try database.tamper(address) { $0[40] ^= 1 }
                let query = StorageQuery(shelf, [.typeTag("note")])
                let (entries, damaged) = try await store.everythingAndDamage(query)
                #expect(entries.map(\.address.name).sorted() == ["0", "1"])
                #expect(damaged.count == 1)
                #expect(try await store.count(query) == 3)
                #expect(try await store.names(StorageQuery(shelf, [.typeTag("task")])) == ["3", "4", "5"])
                // Replacing the damaged row also deletes its old labels, although its content cannot be read.
                let revision = try #require(try await store.read(address).revision)
                let put = StorageMutation.put(.bytes([2]), StorageMetadata(typeTag: "task"), at: address, if: .revision(revision))
                #expect(try await store.apply(put).isApplied)
                #expect(try await store.everythingAndDamage(query).damaged.isEmpty)
                #expect(try await store.names(query) == ["0", "1"])
                #expect(try await store.names(StorageQuery(shelf, [.typeTag("task")])) == ["2", "3", "4", "5"])
                let slot = Data(try database.slot(StorageAddress("1", in: shelf)))
                try write { try $0.execute("DELETE FROM records WHERE slot = ?", [slot]) }
                let stray = try await store.everythingAndDamage(query)
                #expect(stray.entries.map(\.address.name) == ["0"] && stray.damaged.count == 1)
                let handle = try #require(stray.damaged.first?.handle)
                #expect(try await store.damage(at: handle)?.bytes == stray.damaged.first?.corruption.bytes)
                #expect(try await store.deleteDamage(at: handle))
                #expect(try await store.deleteDamage(at: handle) == false)
                #expect(try await store.everythingAndDamage(query).damaged.isEmpty)
                await store.close()
            }

            @Test(arguments: ["slot", "sealed", "row"])
            func `deleting an overwritten row by its handle also deletes every label entry that leads to the row`(
                _ part: String
            ) async throws {
                let store = place.store()
                let slot = Data(try SealedDatabase(path: place.path, keyFile: place.keyPath).slot(StorageAddress("2", in: shelf)))
                let garbage = Data(repeating: 0xA5, count: 16)
                try write { database in
                    if part != "sealed" { try database.execute("UPDATE records SET slot = ? WHERE slot = ?", [garbage, slot]) }
                    let now = part == "sealed" ? slot : garbage
                    if part != "slot" {
                        try database.execute("UPDATE records SET sealed = ? WHERE slot = ?", [Data(repeating: 0, count: 200), now])
                    }
                }
                let listed = try await store.listing(in: shelf)
                #expect(listed.addresses.count == 6 && listed.damaged.count == 1)
                #expect(try await store.everythingAndDamage(StorageQuery(shelf)).damaged.map(\.handle) == listed.damaged.map(\.handle))
                let handle = try #require(listed.damaged.first?.handle)
                #expect(try await store.damage(at: handle) == listed.damaged.first?.corruption)
                #expect(try await store.deleteDamage(at: handle))
                for conditions in Self.questions {
                    #expect(try await store.everythingAndDamage(StorageQuery(shelf, conditions)).damaged.isEmpty, "\(conditions)")
                }
                #expect(try await store.addresses(in: shelf).count == 6)
                #expect(try await store.read(StorageAddress("2", in: shelf)) == .absent)
                await store.close()
            }
        }
    }
#endif
