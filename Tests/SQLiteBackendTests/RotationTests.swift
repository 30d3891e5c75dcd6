#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Tests of rotations. A rotation replaces the data key of a database, and seals all rows again with the new key.
    @Suite(.slow("goes through real files many times"), .inTurn) struct RotationTests {
        private let place: Place
        private let namespace = StorageNamespace("notes")

        init() throws { place = try Place() }

        private func recovery(_ seed: UInt8 = 1) -> RecoveryKeyPair { RecoveryKeyPair { [UInt8](repeating: seed, count: $0) } }

        private func note(_ number: Int) -> StorageAddress { StorageAddress("note \(number)", in: namespace) }

        private func put(_ number: Int, _ text: String) -> StorageMutation {
            let metadata = StorageMetadata(
                typeTag: "Note", modifiedAt: Double(number % 3) * 86_400, attributes: ["colour": number % 2 == 0 ? "red" : "blue"])
            return .put(.bytes(Array(text.utf8)), metadata, at: note(number))
        }

        /// Stores values, records with labels, and a tombstone.
        private func fill(_ store: SQLiteStore, _ count: Int = 20) async throws {
            for number in 0..<count {
                try await store.put("value \(number)", at: "name \(number)")
                #expect(try await store.apply([put(number, "text \(number)")]).allSatisfy(\.isApplied))
            }
            #expect(try await store.apply([.tombstone(StorageMetadata(), at: StorageAddress("gone"))]).allSatisfy(\.isApplied))
        }

        /// Returns the probes of all names, with their revisions.
        private func content(_ store: SQLiteStore, _ count: Int = 20) async throws -> [StorageProbe] {
            let values = (0..<count).map { StorageAddress("name \($0)") }
            return try await store.read(values + (0..<count).map(note) + [StorageAddress("gone")], .fresh)
        }

        private func rotate(_ store: SQLiteStore, batch: Int = 7) async throws -> Int {
            try await store.rotateDataKey(batch: batch) { _, _ in }
        }

        private func states(_ path: String? = nil) throws -> [KeyTables.State] {
            try SealedDatabase(path: path ?? place.path, keyFile: place.keyPath).tables().keys.keys.map(\.state).sorted {
                $0.rawValue < $1.rawValue
            }
        }

        /// A rotation by another store, which a test advances step by step.
        /// It stops before each time it takes the lock:
        /// to activate the new key, to seal each batch of rows, and to destroy the old key.
        private final class Steps: Sendable {
            private let gates = (0..<400).map { _ in Gate() }
            private let arrivals = Gate(isOpen: true)
            private let taken = Atomic(0)
            let task: Task<Int, any Error>

            init(_ place: Place, batch: Int) {
                let (gates, arrivals) = (gates, arrivals)
                let number = Mutex(0)
                let files = HookedFiles { operation, path in
                    guard operation == "lock", path == place.lockPath else { return }
                    let mine = number.withLock { number in
                        defer { number += 1 }
                        return number
                    }
                    arrivals.block()
                    gates[mine].block()
                }
                var runtime = Runtime.live
                runtime.files = files
                let store = place.store(runtime: runtime)
                task = Task {
                    let result: Result<Int, any Error>
                    do { result = .success(try await store.rotateDataKey(batch: batch) { _, _ in }) } catch { result = .failure(error) }
                    for gate in gates { gate.open() }
                    await store.close()
                    for _ in gates { await arrivals.pass() }
                    return try result.get()
                }
            }

            /// Lets the rotation take steps. Returns when it waits for the next step or has ended.
            func take(_ count: Int = 1) async {
                for _ in 0..<count {
                    let number = taken.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard number < gates.count else { return }
                    await arrivals.arrived(number + 1)
                    gates[number].open()
                    await arrivals.arrived(number + 2)
                }
            }

            /// Lets the rotation run to its end.
            func finish() async throws -> Int {
                for gate in gates { gate.open() }
                return try await task.value
            }
        }

        @Test func `every value keeps its content and revision under a new key, and the old key is destroyed`() async throws {
            let store = place.store()
            try await fill(store)
            try await store.change(.addingRecovery(recovery()))
            let before = try await content(store)
            let old = try SealedDatabase(path: place.path, keyFile: place.keyPath).keyset().active.id
            let seen = Mutex<[Int]>([])
            let count = try await store.rotateDataKey(batch: 7) { done, total in
                seen.withLock { $0.append(done) }
                #expect(total == 41)
            }
            #expect(count == 41)
            #expect(seen.withLock { $0 == $0.sorted() && $0.last == 41 && $0.count >= 5 })
            #expect(try await content(store) == before)
            #expect(try states() == [.active, .destroyed])
            #expect(try SealedDatabase(path: place.path, keyFile: place.keyPath).keyset().active.id != old)
            for filter in [[], [.attribute("colour", "red")], [.typeTag("Note")], [.modified(since: 86_400)]] as [[StorageQuery.Condition]]
            {
                let page = try await store.page(StorageQuery(namespace, filter), after: nil, limit: 100)
                #expect(page.isComplete && page.damaged.isEmpty && !page.entries.isEmpty)
            }
            #expect(try await store.count(StorageQuery(namespace)) == 20)
            // A precondition may use a revision from before the rotation.
            let revision = try #require(before[3].revision)
            #expect(try await store.apply(.text("changed", at: "name 3", if: .revision(revision))).isApplied)
            await store.close()
            #expect(try await place.check() == 41)
            try recovery().text.write(toFile: place.folder + "/recovery.txt", atomically: true, encoding: .utf8)
            #expect(try await Reader.dump(place.path, place.folder + "/recovery.txt").records.count == 41)
            // Rotate again, with rows that already keep an older revision.
            let again = place.store()
            #expect(try await rotate(again) == 41)
            var expected = before
            expected[3] = try await content(again)[3]
            #expect(try await content(again) == expected)
            #expect(try states() == [.active, .destroyed, .destroyed])
            await again.close()
            #expect(try await place.check() == 41)
        }

        @Test func `a copy of the file after a rotation contains no key that opens an older copy`() async throws {
            let store = place.store()
            try await fill(store)
            try await store.change(.addingRecovery(recovery()))
            let old = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            let wraps = try old.tables().keys.wraps.map(\.wrapped)
            func isFound(_ needle: [UInt8]) -> Bool {
                ["", "-wal"].contains { suffix in
                    guard let file = FileManager.default.contents(atPath: place.path + suffix) else { return false }
                    return file.range(of: Data(needle)) != nil
                }
            }
            #expect(wraps.count == 2)
            for needle in wraps { #expect(isFound(needle), "the search finds nothing") }
            _ = try await rotate(store)
            // The store is still open, so the search also covers the log, which must be overwritten.
            // Sealed rows are not searched for: they open nothing without these keys.
            // SQLite may leave some of their bytes behind when it moves rows between pages.
            // A wrapped key for a recovery key begins with a voucher, which does not change and is left out.
            for wrap in wraps.map({ $0.suffix(72) }) {
                for half in [wrap.prefix(36), wrap.suffix(36)] { #expect(!isFound(Array(half))) }
            }
            await store.close()
        }

        @Test func `an interrupted rotation is finished by another one, and new writes use the new key`() async throws {
            let store = place.store()
            try await fill(store)
            let before = try await content(store)
            let rotation = Steps(place, batch: 4)
            // The first step activates the new key. The second step seals one batch.
            await rotation.take(2)
            #expect(try states() == [.active, .decryptOnly])
            #expect(try await content(store) == before)
            // A new store, as in another process, reads rows of the old and of the new key.
            let other = place.store()
            #expect(try await content(other) == before)
            #expect(try await other.apply([put(5, "newer"), .delete(StorageAddress("name 7"))]).allSatisfy(\.isApplied))
            #expect(try await store.read(note(5), .fresh).text == "newer")
            let keys = try SealedDatabase(path: place.path, keyFile: place.keyPath).keyset()
            #expect(keys.decryptOnly.count == 1)
            // A second rotation finishes the first one. Both calls return.
            #expect(try await rotate(other) > 0)
            _ = try await rotation.finish()
            #expect(try states() == [.active, .destroyed])
            var expected = before
            (expected[7], expected[25]) = (.absent, try await other.read(note(5)))
            #expect(try await content(store) == expected)
            #expect(try await store.count(StorageQuery(namespace)) == 20)
            await other.close()
            await store.close()
            #expect(try await place.check() == 40)
        }

        @Test func `an enumeration during a rotation returns each record at most once, and every record if it ends without an error`()
            async throws
        {
            var (finished, begunAgain) = (0, 0)
            let count = 12
            let all = Set((0..<count).map { note($0) })
            for (size, batch, filter) in [
                (3, 2, []), (2, 7, []), (5, 1, [.typeTag("Note")]), (4, 3, [.attribute("colour", "red")]), (3, 4, [.modified(since: 0)]),
            ] as [(Int, Int, [StorageQuery.Condition])] {
                for variant in isLong ? Array(0..<40) : [0, 3] {
                    let place = try Place()
                    let store = place.store()
                    try await fill(store, count)
                    let wanted = filter == [.attribute("colour", "red")] ? all.filter { (Int($0.name.dropFirst(5)) ?? 0) % 2 == 0 } : all
                    let rotation = Steps(place, batch: batch)
                    await rotation.take(variant)
                    var met: [StorageAddress] = []
                    var cursor: StorageCursor?
                    var failure: BackendError?
                    for page in 0... {
                        let asked = cursor
                        do throws(BackendError) {
                            let answer = try await store.page(StorageQuery(namespace, filter), after: asked, limit: size)
                            met += answer.entries.map(\.address)
                            if !answer.damaged.isEmpty { failure = BackendError(.corrupted, "\(answer.damaged)") }
                            cursor = answer.next
                        } catch { failure = error }
                        if cursor == nil || failure != nil { break }
                        await rotation.take([0, 1, 0, 3, 0, 0, 7, 1][(page * (variant + 1) + variant) % 8])
                    }
                    #expect(Set(met).count == met.count, "\(size) \(batch) \(variant): twice")
                    if let failure {
                        // The old key was destroyed during the enumeration,
                        // or the rotation started during an enumeration by day.
                        #expect(failure.code == .unsupported, "\(failure)")
                        begunAgain += 1
                    } else {
                        #expect(Set(met) == wanted, "\(size) \(batch) \(variant): \(met.count)")
                        finished += 1
                    }
                    _ = try await rotation.finish()
                    var pages: [StorageAddress] = []
                    var next: StorageCursor?
                    repeat {
                        let answer = try await store.page(StorageQuery(namespace, filter), after: next, limit: size)
                        pages += answer.entries.map(\.address)
                        next = answer.next
                        if next == nil { #expect(answer.isComplete) }
                    } while next != nil
                    #expect(pages.count == wanted.count && Set(pages) == wanted)
                    await store.close()
                }
            }
            #expect(finished > 3)
            print("enumerations beside a rotation: \(finished) to the end, \(begunAgain) to be begun again")
        }

        @Test func `a rotation seals large values in small batches`() async throws {
            let store = place.store()
            let value = [UInt8](repeating: 7, count: 3 << 20)
            for number in 0..<4 { #expect(try await store.apply(.put(.bytes(value), at: StorageAddress("large \(number)"))).isApplied) }
            let parts = Mutex(0)
            #expect(try await store.rotateDataKey(batch: 256) { _, _ in parts.withLock { $0 += 1 } } == 4)
            #expect(parts.withLock { $0 } >= 2)
            for number in 0..<4 { #expect(try await store.read(StorageAddress("large \(number)")).record?.payload == .bytes(value)) }
            #expect(try states() == [.active, .destroyed])
            await store.close()
        }

        @Test func `a rotation keeps the old key if rows are damaged, and no other value is lost`() async throws {
            let store = place.store()
            try await fill(store)
            let before = try await content(store)
            await store.close()
            let attacker = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            try attacker.tamper(StorageAddress("name 3")) { $0[60] ^= 1 }
            // Add a copy of a row under an id at which no read finds it.
            try attacker.write {
                let slot = Data(try attacker.slot(StorageAddress("name 4")))
                try $0.execute("INSERT INTO records SELECT 5, slot, version, sealed FROM records WHERE slot = ?", [slot])
            }
            let damaged = place.store()
            // The database does not have the rows that were written. No new key is wrapped until a person has accepted its contents.
            let refusal = await failure { () throws(BackendError) in try await damaged.rotateDataKey(batch: 7) { _, _ in } }
            #expect(refusal?.code == .corrupted && refusal?.outcome == .notApplied, "\(String(describing: refusal))")
            #expect(try states() == [.active])
            try await damaged.acceptContents()
            let error = await failure { () throws(BackendError) in try await damaged.rotateDataKey(batch: 7) { _, _ in } }
            #expect(error?.code == .corrupted && error?.outcome == .applied, "\(String(describing: error))")
            #expect(try states() == [.active, .decryptOnly])
            var probes = try await content(damaged)
            guard case .corrupt = probes[3] else {
                Issue.record("\(probes[3])")
                return
            }
            probes[3] = before[3]
            #expect(probes == before)
            for slot in try await damaged.listing(in: .values).damaged { #expect(try await damaged.deleteDamage(at: slot.handle)) }
            #expect(try await rotate(damaged) == 0)
            #expect(try states() == [.active, .destroyed])
            probes = try await content(damaged)
            #expect(probes[3] == .absent && probes[4] == before[4])
            await damaged.close()
        }

        @Test func `after a kill at any write of a rotation all values are readable, and the next rotation continues`() async throws {
            let store = place.store()
            try await fill(store, 6)
            let before = try await content(store, 6)
            await store.close()
            let original = try Data(contentsOf: URL(filePath: place.path))
            let calls = "pwrite64,fdatasync,fsync,ftruncate"
            func run(_ number: Int?) async throws -> [String] {
                for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place.path + suffix) }
                try original.write(to: URL(filePath: place.path))
                let injection = number.map { ["-e", "inject=\(calls):signal=KILL:when=\($0)"] } ?? ["-o", place.folder + "/trace"]
                let prefix = ["strace", "-f", "-qq", "-e", "trace=\(calls)"] + (number == nil ? [] : ["-o", "/dev/null"]) + injection
                let probe = try place.probe("rotate", ["5"], under: prefix)
                #expect(try await probe.line() == "ready")
                try? probe.send("go")
                return await probe.end().lines
            }
            #expect(try await run(nil).last == "rotated 13")
            let count = try Trace(place.folder + "/trace").calls.count { !$0.name.isEmpty }
            #expect(count > 30)
            let step = isLong ? 1 : max(1, count / 6)
            var counts: [String: Int] = [:]
            for number in stride(from: 1, through: count, by: step) {
                let lines = try await run(number)
                let store = place.store()
                #expect(try await content(store, 6) == before, "killed at \(number)")
                let state = try states().map { "\($0)" }.joined(separator: " ")
                counts[state, default: 0] += 1
                if lines.last == "rotated 13" { #expect(state == "active destroyed") }
                _ = try await store.rotateDataKey(batch: 5) { _, _ in }
                #expect(try states().filter { $0 == .active }.count == 1)
                #expect(try !states().contains(.decryptOnly))
                #expect(try await content(store, 6) == before, "killed at \(number), then rotated")
                await store.close()
                try await place.check("killed at \(number)")
            }
            print("rotation killed at \(counts.values.reduce(0, +)) of \(count) writes: \(counts)")
            #expect(counts.count >= 2)
        }
    }
#endif
