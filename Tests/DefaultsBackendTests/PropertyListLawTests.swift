import BackendContract
import BackendRuntime
import Foundation
import TestSupport
import Testing

@testable import DefaultsBackend

/// Property-based tests of the property list format, for any sequence of changes by this store and other programs.
/// A document, which is the list in memory, keeps encoded pieces between rewrites. Joined, they must be the same file as a full encoding.
/// This store and Foundation must read the same values from that file. A value that another program wrote is a foreign value.
@Suite(.inTurn, .tags(.campaign)) struct PropertyListLawTests {
    // MARK: The changes

    private static let names = ["a", "b <&>", "é", "😀", "z"]
    /// Names that other programs may use, and that XML cannot represent.
    private static let oddNames = ["\u{FEFF}a", "n\u{0}l"]

    private static func addresses(_ names: [String]) -> Arbitrary<StorageAddress> {
        .one(
            of: names.map { StorageAddress($0) } + ["a", "c"].map { StorageAddress($0, in: StorageNamespace("n")) } + [
                StorageAddress("a", in: StorageNamespace("ledger é"))
            ])
    }

    /// Values that another program may write and that Foundation's writer preserves.
    /// They use only the types that property lists have.
    private static func foreign(_ text: Arbitrary<String>) -> Arbitrary<NativeValue> {
        let number = Arbitrary<Int32>.number.map { NativeValue.real(Double($0) / 8) }
        let date = Arbitrary<Int64>.number(in: -60_000_000_000...200_000_000_000).map { NativeValue.date(Double($0)) }
        let unsigned = Arbitrary<UInt64>.number(in: UInt64(Int64.max) + 1...UInt64.max).map(NativeValue.unsigned)
        return .native(
            .any(of: [
                text.map(NativeValue.string), Arbitrary<Int64>.number.map(NativeValue.integer), unsigned, number,
                Arbitrary<Bool>.flag.map(NativeValue.boolean), date, Arbitrary<[UInt8]>.bytes().map(NativeValue.data),
            ]), names: .text(.letter, 1...3), levels: 2)
    }

    private static func changes(
        _ payloads: Arbitrary<StoragePayload>, _ foreign: Arbitrary<NativeValue>, names: [String] = names
    ) -> Arbitrary<[ListChange]> {
        let addresses = addresses(names)
        let metadata = Arbitrary<StorageMetadata>.metadata.limited(to: 8)
        let puts = zip(addresses, payloads, metadata).map(ListChange.put)
        let foreignChanges = zip(Arbitrary<String>.one(of: names), foreign.optional).map(ListChange.foreign)
        return Arbitrary<ListChange>.any(of: [
            addresses.map(ListChange.delete), puts, puts, zip(addresses, metadata).map(ListChange.tombstone), foreignChanges,
            .always(.rewrite),
        ]).list(1...12)
    }

    /// A document together with the model that predicts its content.
    private struct Bench {
        var document = PropertyListDocument()
        var model = PropertyListModel()
        var revisions: UInt64 = 0
        /// The bytes of the file, which each check writes again.
        var bytes: [UInt8] = []
        /// The format in which the other program rewrites the file, independent of the format that this store chose.
        let format: PropertyListSerialization.PropertyListFormat

        mutating func revision() -> StorageRevision {
            revisions += 1
            var generator = SeededGenerator(revisions)
            return StorageRevision.random(using: &generator)
        }

        mutating func apply(_ change: ListChange) throws {
            switch change {
            case .put(let address, let payload, let metadata):
                let record = StorageRecord(payload: payload, metadata: metadata, revision: revision())
                let slot = PropertyListSlot(address, payload, metadata, record.revision)
                guard let value = slot.value else { throw Broken("the value cannot be stored in the file") }
                document.replace(slot)
                model.put(record, as: value, at: address)
            case .tombstone(let address, let metadata):
                let tombstone = StorageTombstone(metadata: metadata, revision: revision())
                document.replace(PropertyListSlot(tombstoneAt: address, metadata, tombstone.revision))
                model.writeTombstone(tombstone, at: address)
            case .delete(let address):
                _ = document.remove([address])
                model.remove(address)
            case .foreign(let name, let value):
                var entries = try FoundationList.read(try document.encoded())
                entries[name] = value.map(FoundationList.object)
                document = try PropertyListDocument(try PropertyListReader.read(try FoundationList.write(entries, format)))
                model.foreign(value, at: StorageAddress(name))
            case .rewrite: document = try PropertyListDocument(try PropertyListReader.read(try document.encoded()))
            }
        }

        /// Checks all properties of the document and of its encoded file.
        mutating func check() throws {
            bytes = try document.encode(over: bytes)
            let read = try PropertyListDocument(try PropertyListReader.read(bytes))
            for address in Set(model.slots.keys).union(document.slots.map(\.address)) {
                let expected = model.probe(address)
                try same(PropertyListModel.text(document.probe(address)), expected, "\(address)")
                try same(PropertyListModel.text(read.probe(address)), expected, "\(address), read back")
            }
            try hold(read.differences(from: document).isEmpty, "the document that was read differs")

            // The document joins pieces from earlier rewrites.
            // Compare it with an equal document that is encoded from scratch.
            var whole = PropertyListDocument()
            for slot in document.slots.reversed() {
                whole.replace(PropertyListSlot(address: slot.address, value: slot.value, metadata: slot.metadata))
            }
            if bytes.starts(with: Array("<?xml".utf8)) {
                try hold(try whole.encoded() == bytes, "the joined pieces are not the file that is written at once")
                try hold(try read.encoded() == bytes, "what was read is not written as it was")
            }

            // Foundation must read the same names and values.
            var entries = try FoundationList.read(bytes)
            entries[PropertyListDocument.reservedName] = nil
            let values = model.slots.filter { $0.key.namespace == .values }.compactMapValues(\.value)
            try same(entries.keys.sorted(), values.keys.map(\.name).sorted(), "the names that Foundation reads")
            for (address, value) in values {
                guard let entry = entries[address.name] else { continue }
                try same(try FoundationList.native(entry).canonicalBytes, value.canonicalBytes, "\(address) as Foundation reads it")
            }
        }
    }

    private func check(_ changes: [ListChange], _ format: PropertyListSerialization.PropertyListFormat) throws {
        var bench = Bench(format: format)
        for change in changes {
            try bench.apply(change)
            try bench.check()
        }
    }

    private static func spelling(_ changes: [ListChange]) -> String { changes.map(\.spelledOut).joined(separator: "; ") }

    // MARK: The laws

    @Test func `a file joined from encoded pieces equals a full encoding, and this store and Foundation read the same values from it`()
        async
    {
        let payloads = Arbitrary<StoragePayload>.any(of: [
            Arbitrary<[UInt8]>.bytes().map(StoragePayload.bytes), Arbitrary<NativeValue>.native().map(StoragePayload.native),
        ])
        await forAll(Self.changes(payloads, Self.foreign(.text()), names: Self.names + Self.oddNames), count: 120) {
            try check($0, .binary)
        }
    }

    @Test func `every value that XML can hold is written so that this store and Foundation read it`() async {
        // No value here forces the binary format, so every case uses the XML writer.
        let texts = Arbitrary<String>.text(.markup, 0...6)
        let values = Arbitrary<NativeValue>.native(.any(of: [texts.map(NativeValue.string), .scalar]), names: texts, levels: 2)
        let metadata = zip(texts.optional, zip(texts, texts).list(0...2)).map {
            StorageMetadata(serializer: $0, attributes: Dictionary($1, uniquingKeysWith: { first, _ in first }))
        }
        let puts = zip(Self.addresses(Self.names), values, metadata).list(1...5)
        await forAll(puts, count: 150, spelling: { puts in "\(puts.map { "\($0.0): \($0.1.canonicalBytes), \($0.2)" })" }) { puts in
            try check(puts.map { .put($0.0, .native($0.1), $0.2) }, .xml)
        }
    }

    @Test func `if another program rewrites the list as XML, values that it changed are foreign, and other values and removals stay`() async
    {
        // Use only values that Foundation's XML writer preserves.
        // This test checks which values count as foreign, not that writer.
        let plain = Self.foreign(.text(.letter))
        let payloads = Arbitrary<StoragePayload>.any(of: [
            Arbitrary<[UInt8]>.bytes().map(StoragePayload.bytes), plain.map(StoragePayload.native),
        ])
        let metadata = zip(Arbitrary<String>.text(.letter).optional, Arbitrary<[UInt8]>.bytes().optional).map {
            StorageMetadata(serializer: $0, origin: $1)
        }
        let changes = Self.changes(payloads, plain)
        await forAll(zip(changes, metadata), count: 120, spelling: { "\(Self.spelling($0)) with \($1)" }) { changes, metadata in
            let tame = changes.map { change -> ListChange in
                switch change {
                case .put(let address, let payload, _): .put(address, payload, metadata)
                case .tombstone(let address, _): .tombstone(address, metadata)
                default: change
                }
            }
            try check(tame, .xml)
        }
    }

    @Test func `a second store and Foundation read what a store wrote to disk, and values of other programs stay unchanged`() async {
        let plain = Self.foreign(.text(.letter))
        let payloads = Arbitrary<StoragePayload>.any(of: [
            Arbitrary<[UInt8]>.bytes().map(StoragePayload.bytes),
            Arbitrary<NativeValue>.any(of: [.native(), .nested(0...32)]).map(StoragePayload.native),
        ])
        await forAll(Self.changes(payloads, plain).limited(to: 8), count: 25, spelling: Self.spelling) { changes in
            let scratch = try Scratch()
            let store = scratch.store()
            var foreign: [String: NativeValue] = [:]
            var ours: [StorageAddress: String] = [:]
            for change in changes {
                switch change {
                case .put(let address, let payload, let metadata):
                    let result = try await store.apply(.put(payload, metadata, at: address))
                    guard let revision = result.revision else { throw Broken("not put: \(result)") }
                    let record = StorageRecord(payload: payload, metadata: metadata, revision: revision)
                    ours[address] = PropertyListModel.text(.value(record))
                    if address.namespace == .values { foreign[address.name] = nil }
                case .tombstone(let address, let metadata):
                    let result = try await store.apply(.tombstone(metadata, at: address))
                    guard let revision = result.revision else { throw Broken("the tombstone was not stored: \(result)") }
                    ours[address] = PropertyListModel.text(.tombstone(StorageTombstone(metadata: metadata, revision: revision)))
                    if address.namespace == .values { foreign[address.name] = nil }
                case .delete(let address):
                    _ = try await store.apply(.delete(address))
                    ours[address] = nil
                    if address.namespace == .values { foreign[address.name] = nil }
                case .foreign(let name, let value):
                    // The other program uses separate names here.
                    // The tests above cover foreign writes over entries of this store.
                    var entries = (try? scratch.foundationEntries()) ?? [:]
                    entries["theirs " + name] = value.map(FoundationList.object)
                    foreign["theirs " + name] = value
                    try scratch.write(try FoundationList.write(entries, .binary), to: scratch.path())
                case .rewrite: _ = try await store.synchronize()
                }
            }
            _ = try await store.apply(.put(.text("last"), at: StorageAddress("last")))
            let other = scratch.store()
            for (address, expected) in ours {
                try same(PropertyListModel.text(try await other.read(address)), expected, "\(address)")
            }
            let entries = try scratch.foundationEntries()
            for (name, value) in foreign {
                try same(PropertyListModel.text(try await other.read(StorageAddress(name))), "foreign \(value.canonicalBytes)", name)
                guard let entry = entries[name] else { throw Broken("\(name) is gone") }
                try same(try FoundationList.native(entry).canonicalBytes, value.canonicalBytes, "\(name) as Foundation reads it")
            }
            await store.close()
            await other.close()
        }
    }
}

extension PropertyListDocument {
    /// The bytes of the property list, encoded from scratch.
    func encoded() throws(BackendError) -> [UInt8] {
        var copy = self
        return try copy.encode(over: [])
    }
}
