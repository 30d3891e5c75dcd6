#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Attacks on the schema. A store refuses an unexpected schema when it opens the database and while it is open.
    extension Attacks {
        struct Schemas {
            static let attacks = [
                "CREATE TRIGGER copy AFTER INSERT ON records BEGIN UPDATE records SET sealed = zeroblob(9) WHERE id <> NEW.id; END",
                "CREATE TRIGGER remove AFTER UPDATE ON records BEGIN DELETE FROM records WHERE id <> NEW.id; END",
                "CREATE TRIGGER gone BEFORE DELETE ON records BEGIN SELECT RAISE(IGNORE); END",
                "CREATE TRIGGER keys AFTER UPDATE ON header BEGIN DELETE FROM keys; END",
                "CREATE VIEW extra AS SELECT * FROM records", "CREATE TABLE copies (sealed BLOB)", "CREATE INDEX by_slot ON records (slot)",
                "CREATE TABLE more (id INTEGER PRIMARY KEY AUTOINCREMENT)", "CREATE VIRTUAL TABLE text USING fts5(content)",
                "ALTER TABLE records ADD COLUMN extra", "ALTER TABLE records RENAME TO others; CREATE VIEW records AS SELECT * FROM others",
                "ALTER TABLE records RENAME COLUMN sealed TO opened", "DROP TABLE records", "DROP TABLE keys", "DROP TABLE wraps",
                "DROP TABLE header",
                "DROP TABLE records; CREATE TABLE records (id INTEGER PRIMARY KEY, slot, version, sealed)",
                "ANALYZE",
            ]

            private static let view = """
                ALTER TABLE records RENAME TO others; CREATE VIEW records AS SELECT id, slot, version,
                (SELECT sealed FROM others AS o WHERE o.id <> others.id) AS sealed FROM others
                """

            @Test(arguments: attacks + [view])
            func `a changed schema is refused at opening and while the store is open`(_ sql: String) async throws {
                let name = String(sql.prefix(40).split(separator: "\n")[0])
                let target = try await AttackTarget()
                let all = Set(target.expected.map(\.address))
                var open = AttackTally("schema, while open: \(name)")
                let store = target.store()
                #expect(try await store.probes(target.expected.map(\.address)) == target.expected.map(\.probe))
                #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("more"))).isApplied)
                #expect(try await store.apply(.delete(StorageAddress("more"))).isApplied)
                try target.attack(sql)
                let before = try dump(target)
                open.countAttack()
                let probes = try await open.look(store, target.expected, aimedAt: all)
                for probe in probes { expectSchemaRefusal(probe, name) }
                try await open.change(store, probes, target.expected)
                // Closing the store must not change the attacked database either.
                await store.close()
                #expect(try dump(target) == before)
                open.note()

                var fresh = AttackTally("schema, before opening: \(name)")
                let other = target.store()
                fresh.countAttack()
                for probe in try await fresh.look(other, target.expected, aimedAt: all) { expectSchemaRefusal(probe, name) }
                try await fresh.change(other, try await other.probes(target.expected.map(\.address)), target.expected)
                await other.close()
                fresh.note()
                #expect(try dump(target) == before)
                for tally in [open, fresh] {
                    #expect(tally.aimed == [.refused: target.expected.count])
                    #expect(tally.lists == [.refused: 1])
                    #expect(tally.madeChanges == 0)
                }
            }

            @Test(arguments: attacks + [view])
            func `a change right after an attack on the schema, with no read between them, is refused`(_ sql: String) async throws {
                let target = try await AttackTarget()
                let store = target.store()
                #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("more"))).isApplied)
                try target.attack(sql)
                let before = try dump(target)
                for mutation in [StorageMutation.put(.bytes([2]), at: StorageAddress("more")), .delete(StorageAddress("attacked"))] {
                    guard case .failed(let error) = try await store.apply(mutation) else {
                        Issue.record("\(mutation.operation) was not refused")
                        continue
                    }
                    #expect(error.code.name == "incompatibleSchema" && error.outcome == .notApplied)
                }
                await store.close()
                #expect(try dump(target) == before)
            }

            private func expectSchemaRefusal(_ probe: StorageProbe, _ name: String) {
                #expect(code(of: probe)?.name == "incompatibleSchema", "\(name): \(probe)")
            }

            /// Returns the schema and all rows of every table as text.
            private func dump(_ target: AttackTarget) throws -> [String] {
                try target.attacking { database in
                    var lines = try database.rows("SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY name")
                        .map(\.description)
                    for table in try database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
                        let name = try #require(table[0].text)
                        // Blobs are written out in full, because the description of `Data` is only its length.
                        lines += try database.rows("SELECT * FROM \"\(name)\"").map { row in
                            row.map { $0.blob.map { Array($0).description } ?? "\($0)" }.description
                        }
                        .sorted()
                    }
                    return lines
                }
            }
        }
    }
#endif
