#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import Sealing
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Values that are found by their order.
    @Suite(.inTurn) struct OrderedTests {
        private let place: Place
        private let store: SQLiteStore

        init() throws {
            place = try Place()
            store = place.store()
        }

        private func address(_ number: Int) -> StorageAddress { StorageAddress("\(number)", in: shelf) }

        private func number(_ number: Int) -> [UInt8] { OrderedValue.bytes([.integer(Int64(number))]) }

        /// A value that is found by its own number, and by a text.
        private func put(_ number: Int, as value: Int? = nil, _ text: String? = nil, in store: SQLiteStore? = nil) async throws {
            var ordered = [try OrderedValue("number", bytes: self.number(value ?? number))]
            if let text { ordered.append(try OrderedValue("text", [.text(text), .integer(Int64(number))])) }
            let result = try await (store ?? self.store).put([UInt8(number & 0xFF)], at: address(number), ordered: ordered)
            #expect(result.isApplied, "\(result)")
        }

        private func names(_ page: OrderedPage) -> [String] { page.entries.map(\.entry.address.name) }

        private func expect(
            _ names: [Int], from low: Int? = nil, below high: Int? = nil, in store: SQLiteStore? = nil,
            at location: SourceLocation = #_sourceLocation
        ) async throws {
            let page = try await (store ?? self.store).ordered(
                "number", in: shelf, from: low.map(number) ?? [], below: high.map(number))
            #expect(self.names(page) == names.map(String.init), sourceLocation: location)
            #expect(page.isComplete && page.damaged.isEmpty, sourceLocation: location)
        }

        private func isSound(_ store: SQLiteStore? = nil) async throws -> Bool {
            try await (store ?? self.store).verifyIntegrity { _ in }?.isSound == true
        }

        private func entries() throws -> Int64 { try PlainDatabase(path: place.path).value("SELECT count(*) FROM labels")?.integer ?? -1 }

        @Test func `values are found in their order, by range, as they are changed and removed`() async throws {
            for number in [5, -3, 300, 0, 70_000, -300] { try await put(number, "t\(number)") }
            try await expect([-300, -3, 0, 5, 300, 70_000])
            try await expect([-3, 0, 5], from: -3, below: 300)
            try await expect([], from: 6, below: 300)
            try await put(5, as: 1_000)
            try await expect([-300, -3, 0, 300, 5, 70_000])
            let texts = try await store.ordered("text", in: shelf)
            #expect(names(texts) == ["-3", "-300", "0", "300", "70000"], "what was put without a text has none any more")
            #expect(
                names(try await store.ordered("text", in: shelf, from: OrderedValue.beginning([.text("t-300")]), limit: 2)) == [
                    "-300", "0",
                ])
            #expect(try await !store.ordered("text", in: shelf, limit: 2).isComplete)
            // Whoever does not know of them takes them away.
            try await store.apply(.put(.bytes([1]), StorageMetadata(), at: address(0)))
            try await store.apply(.delete(address(300)))
            try await store.apply(.tombstone(at: address(-300)))
            try await expect([-3, 5, 70_000])
            #expect(try await isSound())
            #expect(try await store.ordered("other", in: shelf).entries.isEmpty)
            #expect(try await store.ordered("number", in: StorageNamespace("other")).entries.isEmpty)
            await store.close()
            let dump = try await Reader.dump(place.path, place.keyPath)
            #expect(dump.features == ["labels", "ordered"])
            #expect(dump.records.first { $0.name == "-3" }?.ordered?["number"] == hexadecimalText(of: number(-3)))
            try await expect([-3, 5, 70_000], in: place.store())
        }

        @Test func `tuples of any length and kind are found in their order`() async throws {
            typealias Part = OrderedValue.Part
            let parts: [Part] = [
                .nothing, .bytes([]), .bytes([0]), .bytes([0xFF]), .text(""), .text("\0"), .text("a"), .integer(.min), .integer(-1),
                .integer(0),
                .integer(.max), .number(-.infinity), .number(0), .number(.infinity), .truth(false), .truth(true),
            ]
            var tuples: [[Part]] = [[]] + parts.map { [$0] }
            for first in parts { tuples += [.nothing, .text("a"), .integer(1), .bytes([0xFF])].map { [first, $0] } }
            for (number, parts) in tuples.enumerated().shuffled() {
                let value = try OrderedValue("tuple", parts)
                #expect(try await store.put([], at: address(number), ordered: [value]).isApplied)
            }
            // Part by part, and of two of which one begins with the other, the shorter one first.
            let order: [Part] = [
                .nothing, .bytes([]), .bytes([0]), .bytes([0xFF]), .text(""), .text("\0"), .text("a"), .integer(.min), .integer(-1),
                .integer(0),
                .integer(1), .integer(.max), .number(-.infinity), .number(0), .number(.infinity), .truth(false), .truth(true),
            ]
            func rank(_ tuple: [Part]) -> [Int] { tuple.compactMap { order.firstIndex(of: $0) } }
            let expected = tuples.indices.sorted { rank(tuples[$0]).lexicographicallyPrecedes(rank(tuples[$1])) }
            let page = try await store.ordered("tuple", in: shelf)
            #expect(names(page) == expected.map(String.init))
            for tuple in tuples {
                let below = try await store.ordered("tuple", in: shelf, below: OrderedValue.bytes(tuple))
                #expect(below.entries.count == tuples.count { rank($0).lexicographicallyPrecedes(rank(tuple)) }, "\(tuple)")
            }
            await store.close()
        }

        @Test func `values of one place in the order are all found, and two of one index are refused`() async throws {
            for number in 0..<20 { try await put(number, as: 7) }
            #expect(Set(names(try await store.ordered("number", in: shelf, from: number(7), below: number(8)))).count == 20)
            let two = [try OrderedValue("number", [.integer(1)]), try OrderedValue("number", [.integer(2)])]
            let result = try await store.put([1], at: address(0), ordered: two)
            guard case .failed(let error) = result else { return #expect(Bool(false), "\(result)") }
            #expect(error.code == .unsupported)
            let outside = await #expect(throws: BackendError.self) { try await store.put([1], at: StorageAddress("a"), ordered: two) }
            #expect(outside?.code == .unsupported)
            #expect(throws: BackendError.self) { try OrderedValue("number", [.text(String(repeating: "x", count: 2_000))]) }
            #expect(try await isSound())
            await store.close()
        }

        @Test func `they are found under another data key, in the middle of its rotation, and when the labels are made anew`() async throws
        {
            for number in 0..<9 { try await put(number, "t") }
            let before = try entries()
            let (other, store) = (place.store(), store)
            let stopped = Task {
                _ = try await store.rotateDataKey(batch: 2) { done, _ in
                    if done >= 4 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            let result = await stopped.result
            #expect(throws: BackendError.self) { try result.get() }
            // Some rows have the old key, and others the new one.
            for store in [store, other] {
                try await expect(Array(0..<9), in: store)
                try await expect([3, 4, 5], from: 3, below: 6, in: store)
            }
            try await put(3, as: 30)
            try await put(30, as: 3)
            #expect(try await isSound(other))
            try await store.apply(.delete(address(30)))
            try await put(3, "t")
            _ = try await store.rotateDataKey(batch: 2) { _, _ in }
            try await expect(Array(0..<9))
            try await expect(Array(0..<9), in: other)
            #expect(try entries() == before)
            try await store.acceptContents()
            try await expect(Array(0..<9))
            #expect(try entries() == before)
            #expect(try await isSound())
            await store.close()
            await other.close()
            let dump = try await Reader.dump(place.path, place.keyPath)
            #expect(dump.records.count { $0.ordered != nil } == 9)
        }

        @Test func `what another program takes away, adds, moves or brings back is never believed, and is reported`() async throws {
            for number in 0..<8 { try await put(number) }
            await store.close()
            let sealed = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            let slots = try (0..<8).map { try sealed.slot(address($0)) }
            func member(_ value: Int, _ slot: Int) -> Data { Data(number(value) + [0] + slots[slot]) }
            let original = try Data(contentsOf: URL(fileURLWithPath: place.path))
            let label = try #require(
                try PlainDatabase(path: place.path).rows("SELECT label FROM labels WHERE slot = ?", [member(3, 3)]).first?[0].blob)
            let attacks: [(name: String, sql: String, values: [Data], right: Set<Int>)] = [
                ("taken away", "DELETE FROM labels WHERE label = ? AND slot = ?", [label, member(3, 3)], [0, 1, 2, 4, 5, 6, 7]),
                ("added", "INSERT INTO labels VALUES (?, ?)", [label, member(9, 3)], Set(0..<8)),
                ("no slot", "INSERT INTO labels VALUES (?, ?)", [label, Data(number(1))], Set(0..<8)),
                ("no row", "INSERT INTO labels VALUES (?, ?)", [label, Data(number(1) + [UInt8](repeating: 0, count: 17))], Set(0..<8)),
                ("moved", "UPDATE labels SET slot = ?2 WHERE label = ?1 AND slot = ?3", [label, member(0, 7), member(7, 7)], Set(0..<7)),
                ("all taken away", "DELETE FROM labels WHERE label = ? AND ? <> ''", [label, label], []),
                ("its count too", "DELETE FROM counts WHERE label = ? AND ? <> ''", [label, label], Set(0..<8)),
            ]
            for attack in attacks {
                try original.write(to: URL(fileURLWithPath: place.path))
                for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place.path + ending) }
                try PlainDatabase(path: place.path).execute(attack.sql, attack.values)
                let store = place.store()
                let page = try await store.ordered("number", in: shelf)
                #expect(Set(names(page)) == Set(attack.right.map(String.init)), "\(attack.name)")
                #expect(!page.isComplete && !page.damaged.isEmpty, "\(attack.name)")
                #expect(try await !isSound(store), "\(attack.name)")
                // The rows are as they were, so the index can be repaired by the handles of its damage, or made anew as a whole.
                for damage in page.damaged { #expect(try await store.damage(at: damage.handle) != nil, "\(attack.name)") }
                let genuine = DamagePlace.label(Array(label), slot: Array(member(1, 1))).handle
                if attack.right.contains(1) { #expect(try await !store.deleteDamage(at: genuine), "\(attack.name)") }
                if attack.name == "moved" {
                    try await store.acceptContents()
                } else {
                    for damage in page.damaged { _ = try await store.deleteDamage(at: damage.handle) }
                }
                try await expect(Array(0..<8), in: store)
                #expect(try await isSound(store), "\(attack.name)")
                await store.close()
            }
        }

        @Test func `a row that is damaged is reported in its place, and its name is usable again`() async throws {
            for number in 0..<4 { try await put(number) }
            await store.close()
            let sealed = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            try PlainDatabase(path: place.path).execute(
                "UPDATE records SET sealed = zeroblob(length(sealed)) WHERE slot = ?", [Data(try sealed.slot(address(2)))])
            let next = place.store()
            let page = try await next.ordered("number", in: shelf)
            #expect(names(page) == ["0", "1", "3"] && page.damaged.count == 1 && !page.isComplete)
            let corruption = try #require(try await next.read(address(2)).revision)
            #expect(
                try await next.put([1], at: address(2), if: .revision(corruption), ordered: [try OrderedValue("number", [.integer(9)])])
                    .isApplied)
            try await expect([0, 1, 3, 2], in: next)
            #expect(try await next.verifyIntegrity { _ in }?.damagedLabels == 0)
            await next.close()
        }
    }
#endif
