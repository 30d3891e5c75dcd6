import BackendContract
import BackendRuntime
import Foundation
import TestSupport
import Testing

@testable import DefaultsBackend

/// Laws of the property list: whatever was changed by whom, the joined pieces are the file that writing it at once gives, and everybody reads in it what is there.
@Suite(.inTurn, .tags(.campaign)) struct PropertyListLawTests {
    // MARK: The changes

    private static let names = ["a", "b <&>", "é", "😀", "z"]
    /// Names that other programs may use, and XML cannot hold.
    private static let oddNames = ["\u{FEFF}a", "n\u{0}l"]

    private static func addresses(_ names: [String]) -> Arbitrary<StorageAddress> {
        .one(
            of: names.map { StorageAddress($0) } + ["a", "c"].map { StorageAddress($0, in: StorageNamespace("n")) } + [
                StorageAddress("a", in: StorageNamespace("ledger é"))
            ])
    }

    /// What another program may write so that Foundation's own writer keeps it: without what a property list does not have.
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

    /// A document and what is expected of it.
    private struct Bench {
        var document = PropertyListDocument()
        var model = PropertyListModel()
        var revisions: UInt64 = 0
        /// How the other program writes: it chooses by itself.
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
                guard let value = slot.value else { throw Broken("a value has no place in the file") }
                document.replace(slot)
                model.put(record, as: value, at: address)
            case .tombstone(let address, let metadata):
                let tombstone = StorageTombstone(metadata: metadata, revision: revision())
                document.replace(PropertyListSlot(tombstoneAt: address, metadata, tombstone.revision))
                model.writeTombstone(tombstone, at: address)
            case .delete(let address):
                _ = document.remove(address)
                model.remove(address)
            case .foreign(let name, let value):
                var entries = try FoundationList.read(try document.encoded(capacity: 0))
                entries[name] = value.map(FoundationList.object)
                document = try PropertyListDocument(try PropertyListReader.read(try FoundationList.write(entries, format)))
                model.foreign(value, at: StorageAddress(name))
            case .rewrite: document = try PropertyListDocument(try PropertyListReader.read(try document.encoded(capacity: 0)))
            }
        }

        /// Everything that has to be true of a document and of the file it becomes.
        func check() throws {
            let bytes = try document.encoded(capacity: 0)
            let read = try PropertyListDocument(try PropertyListReader.read(bytes))
            for address in Set(model.slots.keys).union(document.slots.map(\.address)) {
                let expected = model.probe(address)
                try same(PropertyListModel.text(document.probe(address)), expected, "\(address)")
                try same(PropertyListModel.text(read.probe(address)), expected, "\(address), read back")
            }
            try hold(read.differences(from: document).isEmpty, "the document that was read differs")

            // Pieces that were kept from earlier rewrites against the same document made at once.
            var whole = PropertyListDocument()
            for slot in document.slots.reversed() {
                whole.replace(PropertyListSlot(address: slot.address, value: slot.value, metadata: slot.metadata))
            }
            if bytes.starts(with: Array("<?xml".utf8)) {
                try hold(try whole.encoded(capacity: 0) == bytes, "the joined pieces are not the file that is written at once")
                try hold(try read.encoded(capacity: 0) == bytes, "what was read is not written as it was")
            }

            // Foundation reads the same.
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

    @Test func `after any changes the joined file is the one written at once, and is read back by us and by Foundation`() async {
        let payloads = Arbitrary<StoragePayload>.any(of: [
            Arbitrary<[UInt8]>.bytes().map(StoragePayload.bytes), Arbitrary<NativeValue>.native().map(StoragePayload.native),
        ])
        await forAll(Self.changes(payloads, Self.foreign(.text()), names: Self.names + Self.oddNames), count: 120) {
            try check($0, .binary)
        }
    }

    @Test func `whatever XML can hold is written so that everybody reads it`() async {
        // Without what makes a list binary: everything here goes through the writer of XML.
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

    @Test func `where another program rewrites the file as XML, its values are foreign, ours are ours, and removals stay`() async {
        // What Foundation's writer of XML keeps: the law is about whose a value is, and not about that writer.
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

    @Test func `on a disk, too: what a store wrote another one and Foundation read, and foreign entries stay exactly`() async {
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
                    guard let revision = result.revision else { throw Broken("not buried: \(result)") }
                    ours[address] = PropertyListModel.text(.tombstone(StorageTombstone(metadata: metadata, revision: revision)))
                    if address.namespace == .values { foreign[address.name] = nil }
                case .delete(let address):
                    _ = try await store.apply(.delete(address))
                    ours[address] = nil
                    if address.namespace == .values { foreign[address.name] = nil }
                case .foreign(let name, let value):
                    // Another program's own entries have names of their own here: what happens to ours, the laws above tell.
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
