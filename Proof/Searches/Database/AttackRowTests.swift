#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Attacks on rows while the store is open and reading. A row has an id, a slot (a keyed hash of its name), a
    /// version, and sealed bytes. Its id is derived from its slot.
    extension Attacks {
        struct Rows {
            static let aim: Set<StorageAddress> = [StorageAddress("attacked")]

            /// Changes the row of one name in every given way. After each change it reads every name, tries to change
            /// the unreadable ones, and restores the row.
            private func attack(
                _ name: String, _ target: AttackTarget, at aim: StorageAddress = StorageAddress("attacked"),
                changes: [(inout RawRecord) -> Void]
            ) async throws -> AttackTally {
                var tally = AttackTally(name)
                let original = try target.row(aim)
                let store = target.store()
                for change in changes {
                    var row = original
                    change(&row)
                    try target.attack(
                        "UPDATE records SET id = ?, slot = ?, version = ?, sealed = ? WHERE id = ?",
                        [row.id, row.slot, row.version, row.sealed, original.id])
                    tally.countAttack()
                    let probes = try await tally.look(store, target.expected, aimedAt: [aim])
                    try await tally.change(store, probes, target.expected)
                    #expect(try target.rowsNow().contains(row), "the changed bytes are gone")
                    try target.restore()
                }
                let after = try await store.probes(target.expected.map(\.address))
                #expect(after == target.expected.map(\.probe))
                await store.close()
                tally.note()
                return tally
            }

            private func expectRefused(_ tally: AttackTally, _ target: AttackTarget) {
                #expect(tally.aimed == [.refused: tally.attacks])
                #expect(tally.others == [.right: tally.attacks * (target.expected.count - 1)])
                #expect(tally.lists == [.refused: tally.attacks])
                #expect(tally.madeChanges == 0)
            }

            @Test func `a flipped bit in a slot is noticed and affects only its row`() async throws {
                let target = try await AttackTarget()
                let changes = (0..<16).flatMap { at in masks(at: at).map { mask in { (row: inout RawRecord) in row.slot[at] ^= mask } } }
                expectRefused(try await attack("flip a bit of a slot", target, changes: changes), target)
            }

            @Test(arguments: ["attacked", "empty", "removed"])
            func `a flipped bit in the sealed bytes is noticed and affects only its row`(_ name: String) async throws {
                let target = try await AttackTarget()
                let aim = StorageAddress(name)
                let count = try target.row(aim).sealed.count
                let changes = (0..<count).flatMap { at in masks(at: at).map { mask in { (row: inout RawRecord) in row.sealed[at] ^= mask } }
                }
                expectRefused(try await attack("flip a bit of the sealed bytes of '\(name)'", target, at: aim, changes: changes), target)
            }

            @Test func `a flipped bit in a version is noticed and affects only its row`() async throws {
                let target = try await AttackTarget()
                let changes = (0..<64).map { bit in { (row: inout RawRecord) in row.version ^= 1 << bit } }
                expectRefused(try await attack("flip a bit of a version", target, changes: changes), target)
            }

            @Test func `a row with a flipped bit in its id is absent and is not read under another name`() async throws {
                let target = try await AttackTarget()
                let changes = (0..<64).map { bit in { (row: inout RawRecord) in row.id ^= 1 << bit } }
                let tally = try await attack("flip a bit of an id", target, changes: changes)
                #expect(tally.aimed == [.hidden: 64])
                #expect(tally.others == [.right: 64 * (target.expected.count - 1)])
                // A list finds every row, whatever its id, and the sealed bytes contain the name. So a list may return
                // this record, or fail.
                #expect(tally.lists[.right, default: 0] + tally.lists[.refused, default: 0] == 64)
            }

            @Test func `truncated or lengthened sealed bytes and slots are noticed`() async throws {
                let target = try await AttackTarget()
                let count = try target.row(StorageAddress("attacked")).sealed.count
                let cuts = (0..<count).map { length in { (row: inout RawRecord) in row.sealed = row.sealed.prefix(length) } }
                expectRefused(try await attack("cut off the sealed bytes", target, changes: cuts), target)
                let grown = (1...40).map { more in { (row: inout RawRecord) in row.sealed += Data(count: more * 16) } }
                expectRefused(try await attack("lengthen the sealed bytes", target, changes: grown), target)
                let slots = (Array(0..<16) + [17, 32]).map { length in
                    { (row: inout RawRecord) in row.slot = row.slot.prefix(length) + Data(count: max(0, length - 16)) }
                }
                expectRefused(try await attack("shorten or lengthen a slot", target, changes: slots), target)
            }

            @Test func `a row with a format or key that the header does not permit is reported as damage and not overwritten`() async throws
            {
                let target = try await AttackTarget()
                let formats = (0...255).filter { $0 != 1 }.map { format in { (row: inout RawRecord) in row.sealed[0] = UInt8(format) } }
                expectRefused(try await attack("every unknown row format", target, changes: formats), target)
                let aim = StorageAddress("attacked")
                var row = try target.row(aim)
                let store = target.store()
                row.sealed[0] = 2
                try target.attack("UPDATE records SET sealed = ? WHERE id = ?", [row.sealed, row.id])
                #expect(try await store.read(aim).corruption?.reason.contains("format") == true)
                row.sealed[0] = 1
                row.sealed.replaceSubrange(1..<9, with: Data(repeating: 0xEE, count: 8))
                try target.attack("UPDATE records SET sealed = ? WHERE id = ?", [row.sealed, row.id])
                #expect(try await store.read(aim).corruption?.reason.contains("key") == true)
                #expect(code(of: try await store.read(StorageAddress("other"))) == nil)
                await store.close()
            }

            @Test func `a row with a column value of another type or length is noticed`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("another kind of value in a column")
                let aim = StorageAddress("attacked")
                let row = try target.row(aim)
                let store = target.store()
                // The table forbids NULL. So its declaration is changed while a NULL is written.
                let loose = "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB, version INTEGER, sealed BLOB)"
                let strict = try #require(
                    try target.attacking { try $0.value("SELECT sql FROM sqlite_schema WHERE name = 'records'")?.text })
                for column in ["slot", "version", "sealed"] {
                    for value in [
                        "NULL", "'text'", "CAST(\(column) AS TEXT)", "x'00'", "x''", "17", "-1", "0", "1.5", "9.9e99", "zeroblob(70000)",
                    ]
                    where !(column == "version" && value == "CAST(\(column) AS TEXT)") {
                        try target.attacking { database in
                            if value == "NULL" { try Self.declare(loose, database) }
                            try database.execute("UPDATE records SET \(column) = \(value) WHERE id = ?", [row.id])
                            if value == "NULL" { try Self.declare(strict, database) }
                        }
                        tally.countAttack()
                        let probes = try await tally.look(store, target.expected, aimedAt: [aim])
                        try await tally.change(store, probes, target.expected)
                        try target.restore()
                    }
                }
                await store.close()
                tally.note()
                expectRefused(tally, target)
            }

            /// Changes the declaration of the table of rows.
            static func declare(_ sql: String, _ database: PlainDatabase) throws {
                try database.execute("PRAGMA writable_schema = ON")
                try database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'records'", [sql])
                let version = try database.value("PRAGMA schema_version")?.integer ?? 0
                try database.execute("PRAGMA schema_version = \(version + 1)")
                try database.execute("PRAGMA writable_schema = RESET")
            }

            @Test func `two rows with exchanged slots, versions or sealed bytes are noticed`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("swap parts of two rows")
                let store = target.store()
                for (first, second) in Self.pairs(target.rows) {
                    for parts in 1..<7 {
                        var (one, two) = (first, second)
                        if parts & 1 != 0 { swap(&one.slot, &two.slot) }
                        if parts & 2 != 0 { swap(&one.version, &two.version) }
                        if parts & 4 != 0 { swap(&one.sealed, &two.sealed) }
                        try await swapped(one, two, target, store, &tally)
                    }
                }
                await store.close()
                tally.note()
                #expect(tally.aimed == [.refused: 2 * tally.attacks])
                #expect(tally.others == [.right: tally.attacks * (target.expected.count - 2)])
                #expect(tally.lists == [.refused: tally.attacks])
                #expect(tally.madeChanges == 0)
            }

            @Test func `after the ids of two rows are exchanged both names are absent, and neither row is read under the other name`()
                async throws
            {
                let target = try await AttackTarget()
                var tally = AttackTally("swap whole rows")
                let store = target.store()
                for (first, second) in Self.pairs(target.rows) {
                    var (one, two) = (first, second)
                    swap(&one.id, &two.id)
                    try await swapped(one, two, target, store, &tally)
                }
                await store.close()
                tally.note()
                #expect(tally.aimed == [.hidden: 2 * tally.attacks])
                #expect(tally.others == [.right: tally.attacks * (target.expected.count - 2)])
                #expect(tally.lists[.right, default: 0] + tally.lists[.refused, default: 0] == tally.attacks)
            }

            private static func pairs(_ rows: [RawRecord]) -> [(RawRecord, RawRecord)] {
                rows.indices.flatMap { one in rows[(one + 1)...].map { (rows[one], $0) } }
            }

            private func swapped(
                _ one: RawRecord, _ two: RawRecord, _ target: AttackTarget, _ store: SQLiteStore, _ tally: inout AttackTally
            ) async throws {
                try target.attacking { database in
                    try database.execute("DELETE FROM records WHERE id IN (?, ?)", [one.id, two.id])
                    try one.insert(database)
                    try two.insert(database)
                }
                tally.countAttack()
                let database = SealedDatabase(path: target.path, key: target.key)
                let keyset = try database.keyset()
                let ids = Set([one.id, two.id])
                let aim = target.expected.map(\.address).filter { address in
                    let slot = Data(keyset.active.slot(of: address, table: "records"))
                    return target.rows.contains { $0.slot == slot && ids.contains($0.id) }
                }
                let probes = try await tally.look(store, target.expected, aimedAt: Set(aim))
                try await tally.change(store, probes, target.expected)
                let now = try target.rowsNow()
                #expect(now.contains(one) && now.contains(two))
                try target.restore()
            }

            @Test func `a row whose columns have bytes from the header and key tables is refused`() async throws {
                let target = try await AttackTarget()
                let wrap = target.wraps[0]
                let foreign = [wrap.key, wrap.recipient, wrap.source, wrap.verifier, wrap.wrapped] + target.header.map(\.value)
                let changes = foreign.flatMap { bytes -> [(inout RawRecord) -> Void] in [{ $0.slot = bytes }, { $0.sealed = bytes }] }
                expectRefused(try await attack("columns of header and keys in a row", target, changes: changes), target)
            }

            @Test func `rows and parts of rows from another database with the same key are never read`() async throws {
                let target = try await AttackTarget()
                let other = try await AttackTarget("twin", in: target.folder)
                #expect(target.header != other.header)
                let aim = StorageAddress("attacked")
                let theirs = try other.row(aim)
                let ours = try target.row(aim)
                // Each bit chooses whether slot, version or sealed bytes come from the other database.
                let changes = (1..<8).map { parts in
                    { (row: inout RawRecord) in
                        if parts & 1 != 0 { row.slot = theirs.slot }
                        if parts & 2 != 0 { row.version = theirs.version }
                        if parts & 4 != 0 { row.sealed = theirs.sealed }
                    }
                }
                expectRefused(try await attack("parts of a row of another database, in place", target, changes: changes), target)
                // Insert each row of the other database under the id that it has there. In this database, the same name
                // has a different id, so the row is not found.
                var tally = AttackTally("whole rows of another database, at their places")
                let store = target.store()
                for row in other.rows {
                    try target.attacking { database in
                        try database.execute("DELETE FROM records WHERE id = ?", [ours.id])
                        try row.insert(database)
                    }
                    tally.countAttack()
                    _ = try await tally.look(store, target.expected, aimedAt: [aim])
                    try target.restore()
                }
                await store.close()
                tally.note()
                #expect(tally.aimed == [.hidden: tally.attacks])
                #expect(tally.others == [.right: tally.attacks * (target.expected.count - 1)])
                #expect(tally.lists == [.refused: tally.attacks])
            }

            @Test func `as documented, an earlier row that is restored completely is accepted`() async throws {
                let target = try await AttackTarget()
                let aim = StorageAddress("attacked")
                let old = try target.row(aim)
                let before = try #require(target.expected.first { $0.address == aim }?.probe)
                let store = target.store()
                #expect(try await store.apply(.put(.bytes([9]), at: aim)).isApplied)
                let now = try await store.read(aim)
                let expected = target.expected.map { $0.address == aim ? (address: aim, probe: now) : $0 }
                let new = try #require(try target.rowsNow().first { $0.id == old.id })
                var tally = AttackTally("put an older row back")
                for parts in 1..<8 {
                    var row = new
                    if parts & 1 != 0 { row.version = old.version }
                    if parts & 2 != 0 { row.sealed = old.sealed }
                    if parts & 4 != 0 { row.slot = old.slot }
                    try target.attack(
                        "UPDATE records SET slot = ?, version = ?, sealed = ? WHERE id = ?", [row.slot, row.version, row.sealed, row.id])
                    tally.countAttack()
                    _ = try await tally.look(store, expected, aimedAt: [aim], older: [aim: [before]])
                }
                tally.note()
                // The older and the later row have the same slot.
                // Restoring only the slot (4) therefore changes nothing.
                // Restoring version and sealed bytes (3, or 7 with the slot) restores the whole older row.
                #expect(tally.aimed == [.right: 1, .refused: 4, .older: 2])
                #expect(tally.others == [.right: 7 * (expected.count - 1)])
                await store.close()
            }

            @Test func `as documented, a deleted row is reported as absent, and a copy of a row under another id has no effect on reads`()
                async throws
            {
                let target = try await AttackTarget()
                let aim = StorageAddress("attacked")
                let row = try target.row(aim)
                let store = target.store()
                var gone = AttackTally("delete a row")
                try target.attack("DELETE FROM records WHERE id = ?", [row.id])
                gone.countAttack()
                _ = try await gone.look(store, target.expected, aimedAt: [aim])
                try target.restore()
                gone.note()
                #expect(gone.aimed == [.hidden: 1])
                #expect(gone.lists == [.hidden: 1])
                var copies = AttackTally("copy a row to another id")
                for id in [row.id + 1, row.id - 1, 0, -1, 1, Int64.max, Int64.min] + target.rows.map({ $0.id + 1 }) where id != row.id {
                    var copy = row
                    copy.id = id
                    try target.attacking { try copy.insert($0) }
                    copies.countAttack()
                    _ = try await copies.look(store, target.expected, aimedAt: [aim])
                    try target.restore()
                }
                copies.note()
                #expect(copies.aimed == [.right: copies.attacks])
                #expect(copies.others == [.right: copies.attacks * (target.expected.count - 1)])
                // A list finds both rows. It must not return their name twice, so it may fail instead.
                #expect(copies.lists[.right, default: 0] + copies.lists[.refused, default: 0] == copies.attacks)
                await store.close()
            }
        }
    }
#endif
