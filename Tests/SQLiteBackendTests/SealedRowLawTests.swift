#if SQLite
    import BackendContract
    import Crypto
    import TestSupport
    import Testing

    @testable import SQLiteBackend
    @testable import Sealing

    /// Property-based tests of sealed rows. A row opens only in its slot, and its length reveals only its size class.
    /// Content is padded to one of a few lengths, the size classes.
    @Suite(.inTurn, .tags(.campaign)) struct SealedRowLawTests {
        private static let database = [UInt8](repeating: 7, count: 16)
        private let contents = zip(
            zip(Arbitrary<String>.text(), Arbitrary<String>.text()), .flag, Arbitrary<StorageMetadata>.metadata,
            Arbitrary<[UInt8]>.bytes(0...400)
        ).map { names, isTombstone, metadata, payload in
            RowContent(
                StorageAddress(names.0, in: StorageNamespace(names.1)), isTombstone ? .tombstone : .value, metadata,
                payload: isTombstone ? [] : payload)
        }

        private static func key(_ byte: UInt8) throws -> DataKey {
            try DataKey(key: SymmetricKey(data: [UInt8](repeating: byte, count: 32)), database: database)
        }

        private static func seal(_ content: RowContent, _ key: DataKey, version: Int64) throws -> [UInt8] {
            var generator = SeededGenerator(UInt64(version))
            return try SealedRow.seal(
                content, slot: key.slot(of: content.address, table: DatabaseFormat.table), version: version, with: key
            ) { count in (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) } }
        }

        private static func open(_ sealed: [UInt8], slot: [UInt8], version: Int64, _ key: DataKey) -> [UInt8]? {
            guard sealed.count > SealedRow.overhead, Array(sealed[1...8]) == key.id else { return nil }
            let context = slot.withUnsafeBytes { SealedRow.context(slot: $0, version: version, key: key) }
            return try? sealed.dropFirst(SealedRow.headLength).withUnsafeBytes {
                try key.sealing.open(nonceAndSealed: $0, authenticating: context)
            }
        }

        @Test func `padded content is read back unchanged, and any other length is refused`() async {
            await forAll(contents, count: 200) { content in
                let padded = content.padded()
                let read = try RowContent(padded: padded)
                try hold(Array(read.address.name.utf8) == Array(content.address.name.utf8), "the name is \(read.address)")
                try same(read.address.namespace, content.address.namespace, "the namespace")
                try same(read.kind, content.kind, "the kind")
                try same(RecordCodec.encodeMetadata(read.metadata), RecordCodec.encodeMetadata(content.metadata), "the metadata")
                try same(read.payload, content.payload, "the payload")
                try same(read.padded(), padded, "written again")
                for count in [0, 3, 4, padded.count / 2, padded.count - 1] {
                    try hold((try? RowContent(padded: Array(padded[..<count]))) == nil, "the first \(count) bytes are a content")
                }
                try hold((try? RowContent(padded: padded + [0])) == nil, "a byte too many goes unnoticed")
            }
        }

        @Test func `a padded content has the length of a size class, and shorter content is never in a larger class`() async {
            await forAll(zip(contents, Arbitrary<Int>.number(in: 0...30)), count: 100) { content, more in
                let (one, other) = (content.padded().count, SizeClass.padded(content.padded().count - more))
                try hold(one.isMultiple(of: 16) && one >= 128, "\(one)")
                try hold(other <= one, "a shorter content is longer: \(other)")
            }
        }

        @Test func `a sealed row opens only unchanged, in its slot, at its version and under its key`() async throws {
            let (key, otherKey) = (try Self.key(1), try Self.key(2))
            await forAll(zip(contents, Arbitrary<Int64>.number(in: 1...1 << 32), Arbitrary<UInt8>.number(in: 1...255)), count: 40) {
                content, version, change in
                let slot = key.slot(of: content.address, table: DatabaseFormat.table)
                let sealed = try Self.seal(content, key, version: version)
                try same(Self.open(sealed, slot: slot, version: version, key), content.padded(), "the content")
                try hold(Self.open(sealed, slot: slot, version: version + 1, key) == nil, "it opens at another version")
                try hold(Self.open(sealed, slot: slot, version: version, otherKey) == nil, "it opens under another key")
                var elsewhere = slot
                elsewhere[Int(change) % slot.count] ^= change
                try hold(Self.open(sealed, slot: elsewhere, version: version, key) == nil, "it opens in another slot")
                for index in Array(sealed.indices.dropFirst().prefix(80)) + [sealed.count - 1] {
                    var changed = sealed
                    changed[index] ^= change
                    try hold(Self.open(changed, slot: slot, version: version, key) == nil, "byte \(index) changed by \(change)")
                }
                try hold(Self.open(Array(sealed.dropLast()), slot: slot, version: version, key) == nil, "it opens without its end")
            }
        }

        @Test func `two addresses share a slot only if they are equal`() async throws {
            let key = try Self.key(1)
            let names = Arbitrary<String>.text(.one(of: ["a", "b"]), 0...3)
            let addresses = zip(names, names).map { StorageAddress($0, in: StorageNamespace($1)) }
            await forAll(zip(addresses, addresses), count: 300) { left, right in
                let slots = [left, right].map { key.slot(of: $0, table: DatabaseFormat.table) }
                try same(slots[0] == slots[1], left == right, "whether the slot is the same")
            }
        }
    }
#endif
