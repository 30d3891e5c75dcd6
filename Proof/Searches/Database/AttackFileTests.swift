#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Attacks on closed files, whose bytes are truncated, flipped, exchanged or removed. No connection is open
    /// during an attack.
    extension Attacks {
        struct Files {
            /// The bytes of a closed database. Each attack writes them to a new path.
            private struct Copy {
                let database: Data
                let log: Data?

                /// Writes the files to the path of a store.
                func write(to path: String) throws {
                    for suffix in ["", "-wal", "-shm", ".lock"] { try? FileManager.default.removeItem(atPath: path + suffix) }
                    try writeFile(database, to: path)
                    if let log { try writeFile(log, to: path + "-wal") }
                }
            }

            /// Reads everything through a new store, and tries to change it. If every read is refused, the file must
            /// stay unchanged.
            private func attack(
                _ files: Copy, _ target: AttackTarget, _ tally: inout AttackTally, older: [StorageAddress: [StorageProbe]] = [:]
            ) async throws {
                let path = target.folder.file("attacked.sqlite")
                try files.write(to: path)
                let store = target.store(at: path)
                tally.countAttack()
                let probes = try await tally.look(store, target.expected, aimedAt: Set(target.expected.map(\.address)), older: older)
                try await tally.change(store, probes, target.expected)
                await store.close()
                guard probes.allSatisfy({ Verdict($0, expected: .absent) == .refused }) else { return }
                let now = try Data(contentsOf: URL(filePath: path))
                if files.log == nil, now != files.database {
                    Issue.record("\(tally.name): the file of \(files.database.count) bytes was changed, though nothing in it could be read")
                }
            }

            private func expectNothingWrong(_ tally: AttackTally) {
                tally.note()
                #expect(tally.aimed[.wrong] == nil && tally.lists[.wrong] == nil && tally.madeChanges == 0)
            }

            @Test func `a bit flipped anywhere in the file never gives a wrong value`() async throws {
                let target = try await AttackTarget()
                let database = try Data(contentsOf: URL(filePath: target.path))
                var tally = AttackTally("flip a bit of the database file")
                var zeros = 0
                for at in database.indices {
                    // Most bytes of the file are zeros. Outside of a long run, only every 16th zero is flipped, and
                    // other bytes only at every 4th position.
                    if database[at] == 0 { zeros += 1 }
                    guard isLong || (database[at] == 0 ? zeros % 16 == 0 : at % 4 == 0) else { continue }
                    for mask in masks(at: at / 4) {
                        var flipped = database
                        flipped[at] ^= mask
                        try await attack(Copy(database: flipped, log: nil), target, &tally)
                    }
                }
                expectNothingWrong(tally)
            }

            @Test func `a truncated or lengthened file never gives a wrong value`() async throws {
                let target = try await AttackTarget()
                let database = try Data(contentsOf: URL(filePath: target.path))
                var tally = AttackTally("cut off the database file")
                var lengths: Set<Int> = [16, 99, 100, 101, database.count - 1]
                for length in stride(from: 0, to: database.count - 1, by: isLong ? 16 : 512) { lengths.formUnion([length, length + 1]) }
                for length in lengths.sorted() {
                    try await attack(Copy(database: database.prefix(length), log: nil), target, &tally)
                }
                expectNothingWrong(tally)
                // The documentation promises that a name whose row was cut off is not reported as absent.
                #expect(tally.aimed[.hidden] == nil)
                var grown = AttackTally("lengthen the database file")
                for more in [1, 511, 4_096, 40_960] {
                    try await attack(Copy(database: database + Data(count: more), log: nil), target, &grown)
                }
                expectNothingWrong(grown)
            }

            /// Makes a database whose log has commits, and copies both files while the store is open.
            /// `older` has the states of each name before the last commits.
            private func opened() async throws -> (target: AttackTarget, files: Copy, older: [StorageAddress: [StorageProbe]]) {
                let target = try await AttackTarget()
                let store = target.store()
                let addresses = target.expected.map(\.address)
                // The log gets three commits: two states of one name, and one new name.
                #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("attacked"))).isApplied)
                let between = try await store.read(StorageAddress("attacked"))
                #expect(try await store.apply(.put(.bytes([2]), at: StorageAddress("attacked"))).isApplied)
                #expect(try await store.apply(.put(.bytes([3]), at: StorageAddress("never written"))).isApplied)
                let now = try await store.probes(addresses)
                let folder = try target.folder.folder("copy")
                // Copy with another program, because closing a descriptor in this process would drop SQLite's locks.
                #expect(try await run("cp", [target.path, target.path + "-wal", folder]).status == 0)
                await store.close()
                let files = Copy(
                    database: try Data(contentsOf: URL(filePath: folder + "/store.sqlite")),
                    log: try Data(contentsOf: URL(filePath: folder + "/store.sqlite-wal")))
                var older: [StorageAddress: [StorageProbe]] = [:]
                for (address, probe) in target.expected { older[address] = [probe] }
                older[StorageAddress("attacked"), default: []].append(between)
                return (target.expecting(now), files, older)
            }

            @Test func `as documented, a truncated or damaged log gives complete earlier states, never a wrong value`() async throws {
                let (target, files, older) = try await opened()
                let log = try #require(files.log)
                var whole = AttackTally("the log untouched")
                try await attack(files, target, &whole)
                whole.note()
                #expect(whole.aimed == [.right: target.expected.count])

                var cut = AttackTally("cut off the log")
                let frame = 24 + 4_096
                var lengths: Set<Int> = [0, 1, 16, 31, log.count - 1]
                for end in stride(from: 32, to: log.count, by: frame) { lengths.formUnion([-1, 0, 1, 23, 24, 2_001].map { end + $0 }) }
                for length in lengths.sorted() where length < log.count {
                    try await attack(Copy(database: files.database, log: log.prefix(length)), target, &cut, older: older)
                }
                expectNothingWrong(cut)

                var flipped = AttackTally("flip a bit of the log")
                for at in log.indices {
                    let inFrame = at < 32 ? 0 : (at - 32) % frame
                    guard isLong || inFrame < 24 || at % 61 == 0 else { continue }
                    var bytes = log
                    bytes[at] ^= 1 << (at % 8)
                    try await attack(Copy(database: files.database, log: bytes), target, &flipped, older: older)
                }
                expectNothingWrong(flipped)

                var gone = AttackTally("take the log away, or give another database's")
                let twin = try await opened()
                for other in [nil, Data(), twin.files.log] {
                    try await attack(Copy(database: files.database, log: other), target, &gone, older: older)
                }
                expectNothingWrong(gone)
            }

            @Test
            func `if the database is missing but its log exists, every read and change is refused, and no value is reported as absent`()
                async throws
            {
                let (target, files, _) = try await opened()
                var tally = AttackTally("take the database away, leave its log")
                let path = target.folder.file("attacked.sqlite")
                try files.write(to: path)
                try FileManager.default.removeItem(atPath: path)
                let store = target.store(at: path)
                tally.countAttack()
                let probes = try await tally.look(store, target.expected, aimedAt: Set(target.expected.map(\.address)))
                try await tally.change(store, probes, target.expected)
                await store.close()
                tally.note()
                #expect(tally.aimed == [.refused: target.expected.count])
                #expect(tally.madeChanges == 0)
                #expect(!FileManager.default.fileExists(atPath: path))
                #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == files.log)
            }

            @Test func `a file of another kind at the path of the database is refused and left unchanged`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("something else in the database's place")
                let path = target.folder.file("attacked.sqlite")
                let files = FileManager.default
                for kind in ["empty file", "directory", "text", "zeros", "a plain SQLite database", "a pipe", "a dangling link"] {
                    try? files.removeItem(atPath: path)
                    for suffix in ["-wal", "-shm"] { try? files.removeItem(atPath: path + suffix) }
                    var contents: Data?
                    switch kind {
                    case "empty file": contents = Data()
                    case "text": contents = Data(String(repeating: "not a database. ", count: 1_000).utf8)
                    case "zeros": contents = Data(count: 16_384)
                    case "a plain SQLite database":
                        try PlainDatabase(path: path).execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
                        contents = try Data(contentsOf: URL(filePath: path))
                    case "a pipe": mkfifo(path, 0o600)
                    case "a dangling link":
                        try files.createSymbolicLink(atPath: path, withDestinationPath: target.folder.file("missing/nowhere"))
                    default: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
                    }
                    if let contents { try writeFile(contents, to: path) }
                    // The values may be where the link leads, so it is unknown whether they exist.
                    if kind == "a dangling link" {
                        let store = target.store(at: path)
                        #expect(try await store.read(StorageAddress("other")).error != nil)
                        await store.close()
                        continue
                    }
                    let store = target.store(at: path)
                    tally.countAttack()
                    let probes = try await tally.look(store, target.expected, aimedAt: Set(target.expected.map(\.address)))
                    try await tally.change(store, probes, target.expected)
                    await store.close()
                    if let contents { #expect(try Data(contentsOf: URL(filePath: path)) == contents, "\(kind) was changed") }
                }
                tally.note()
                #expect(tally.aimed == [.refused: tally.attacks * target.expected.count])
                #expect(tally.madeChanges == 0)
            }

            @Test func `as documented, an earlier copy of the whole file gives the earlier values`() async throws {
                let target = try await AttackTarget()
                let old = Copy(database: try Data(contentsOf: URL(filePath: target.path)), log: nil)
                let older = Dictionary(uniqueKeysWithValues: target.expected.map { ($0.address, [$0.probe]) })
                let store = target.store()
                for mutation in [StorageMutation.put(.bytes([7]), at: StorageAddress("attacked")), .delete(StorageAddress("other"))] {
                    #expect(try await store.apply(mutation).isApplied)
                }
                let now = try await store.probes(target.expected.map(\.address))
                await store.close()
                var tally = AttackTally("put a whole older file back")
                try await attack(old, target.expecting(now), &tally, older: older)
                tally.note()
                #expect(tally.aimed == [.older: 2, .right: target.expected.count - 2])
            }
        }
    }
#endif
