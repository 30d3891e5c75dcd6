import BackendContract

@testable import DefaultsBackend

/// Fuzz targets for property lists. They check the reader, the reserved dictionary with LocalData's metadata, and lists
/// that are read and written again.
extension FuzzTarget {
    static let propertyLists: [FuzzTarget] = [
        FuzzTarget(name: "property-lists", seeds: { PropertyListSeeds.files }) { (bytes) throws(BrokenPromise) in
            try checkPropertyList(bytes)
        },
        FuzzTarget(name: "binary-property-lists", seeds: { PropertyListSeeds.objects }) { (bytes) throws(BrokenPromise) in
            try checkPropertyList(BinaryPropertyList.bytes(bytes))
        },
        FuzzTarget(name: "property-list-states", seeds: { RecordSeeds.dice + PropertyListSeeds.states }) { (bytes) throws(BrokenPromise) in
            var dice = Dice(bytes)
            var document = PropertyListDocument()
            var expected: [StorageAddress: StorageProbe] = [:]
            for _ in 0..<8 where !dice.isEmpty {
                guard let (address, slot, probe) = slot(&dice) else { continue }
                document.replace(slot)
                expected[address] = probe
            }
            let written = try write(document)
            let again = try read(written)
            try promise(again.slots.count == expected.count, "another number of slots comes back than was written")
            for (address, probe) in expected {
                try promise(areSame(document.probe(address), probe), "what was set is not what the store has")
                try promise(areSame(again.probe(address), probe), "what was written is not what is read")
            }
            try promise(try write(again) == written, "there are two ways to write a state")
        },
    ]

    /// Makes an address, the slot that the store would make there, and the expected result of a read (a probe). Returns
    /// nil if the store refuses the slot.
    private static func slot(_ dice: inout Dice) -> (StorageAddress, PropertyListSlot, StorageProbe)? {
        let namespace = StorageNamespace(dice.flag() ? dice.text(atMost: 30) : "")
        let address = StorageAddress(dice.text(), in: namespace)
        let (metadata, revision) = (dice.metadata(), dice.revision())
        guard dice.number(below: 4) > 0 else {
            guard (try? PropertyListStore.validate(StorageMutation(address, .tombstone(metadata)))) != nil else { return nil }
            let tombstone = StorageTombstone(metadata: metadata, revision: revision)
            return (address, PropertyListSlot(tombstoneAt: address, metadata, revision), .tombstone(tombstone))
        }
        let payload = dice.payload()
        guard (try? PropertyListStore.validate(StorageMutation(address, .put(payload, metadata)))) != nil else { return nil }
        let record = StorageRecord(payload: payload, metadata: metadata, revision: revision)
        return (address, PropertyListSlot(address, payload, metadata, revision), .value(record))
    }

    private enum Answer: Equatable {
        case entries([UInt8])
        case damaged(String)
        case unsupported
    }

    /// Checks the promises for bytes that may be a property list.
    private static func checkPropertyList(_ bytes: [UInt8]) throws(BrokenPromise) {
        let answer = try steady(bytes) { bytes -> Answer in
            do throws(PropertyListFault) {
                return .entries(NativeValue.dictionary(try PropertyListReader.read(bytes)).canonicalBytes)
            } catch {
                switch error {
                case .damaged(let how): return .damaged(how)
                // The answer does not contain the reason. A list may be unsupported for several reasons, and the order
                // of a dictionary decides which one the reader meets first.
                case .unsupported: return .unsupported
                }
            }
        }
        guard case .entries = answer, let entries = try? PropertyListReader.read(bytes) else { return }
        let document: PropertyListDocument
        do throws(PropertyListFault) { document = try PropertyListDocument(entries) } catch { return }
        let written = try write(document)
        let again = try read(written)
        try promise(again.slots.count == document.slots.count, "another number of slots comes back than was read")
        for slot in document.slots {
            let found = again.probe(slot.address)
            try promise(areSame(found, slot.probe), "a slot is another after it was written again: \(found) instead of \(slot.probe)")
        }
        // Entries of other programs must be written again unchanged.
        let values = Set(document.slots.filter { $0.address.namespace == .values && $0.value != nil }.map(\.address.name))
        let strangers = entries.keys.filter { $0 != PropertyListDocument.reservedName }
        try promise(strangers.allSatisfy(values.contains), "an entry was lost")
        // Only an XML list must be written in the same way again. A binary list has no canonical form, because its
        // dictionaries have no order.
        if written.starts(with: PropertyListXML.header) {
            try promise(try write(again) == written, "there are two ways to write a state")
        }
    }

    private static func write(_ document: PropertyListDocument) throws(BrokenPromise) -> [UInt8] {
        do throws(BackendError) { return try document.encoded() } catch {
            throw BrokenPromise(description: "what was read cannot be written: \(error)")
        }
    }

    private static func read(_ bytes: [UInt8]) throws(BrokenPromise) -> PropertyListDocument {
        do throws(PropertyListFault) { return try PropertyListDocument(try PropertyListReader.read(bytes)) } catch {
            throw BrokenPromise(description: "what was written cannot be read: \(error)")
        }
    }

    /// Whether two probes (results of reads) are equal byte for byte. Texts that are only canonically equivalent are
    /// different.
    private static func areSame(_ left: StorageProbe, _ right: StorageProbe) -> Bool {
        switch (left, right) {
        case (.value(let left), .value(let right)):
            RecordCodec.encode(left) == RecordCodec.encode(right) && left.isForeign == right.isForeign
        case (.tombstone(let left), .tombstone(let right)): RecordCodec.encode(left) == RecordCodec.encode(right)
        default: left == right
        }
    }
}

/// Makes a binary property list from an input. Each object of the list is complete, so the list passes the first checks
/// of the reader. The references between the objects are arbitrary.
enum BinaryPropertyList {
    static func bytes(_ input: [UInt8]) -> [UInt8] {
        var dice = Dice(input)
        let count = 1 + dice.number(below: 64)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for number in 0..<count {
            offsets.append(bytes.count)
            bytes += object(&dice, count, isRoot: number == 0)
        }
        let table = bytes.count
        for offset in offsets { bytes += [UInt8(truncatingIfNeeded: offset >> 8), UInt8(truncatingIfNeeded: offset)] }
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [count, 0, table] { withUnsafeBytes(of: UInt64(number).bigEndian) { bytes.append(contentsOf: $0) } }
        // Damages a few bytes at arbitrary positions.
        for _ in 0..<dice.number(below: 4) {
            let place = Int(dice.byte()) << 8 | Int(dice.byte())
            bytes[place % bytes.count] = dice.byte()
        }
        return bytes
    }

    private static func object(_ dice: inout Dice, _ count: Int, isRoot: Bool) -> [UInt8] {
        func marker(_ kind: UInt8, _ length: Int) -> [UInt8] {
            length < 15 ? [kind << 4 | UInt8(length)] : [kind << 4 | 15, 0x11, UInt8(length >> 8), UInt8(length & 255)]
        }
        func references(_ number: Int, _ dice: inout Dice) -> [UInt8] { (0..<number).map { _ in UInt8(dice.number(below: count)) } }
        switch isRoot ? 12 : dice.number(below: 14) {
        case 0: return [[0x00, 0x08, 0x09, 0x0F][dice.number(below: 4)]]
        case 1:
            let power = dice.number(below: 5)
            return [0x10 | UInt8(power)] + (0..<(1 << power)).map { _ in dice.byte() }
        case 2: return [0x23] + (0..<8).map { _ in dice.byte() }
        case 3: return [0x22] + (0..<4).map { _ in dice.byte() }
        case 4: return [0x33] + (0..<8).map { _ in dice.byte() }
        case 5:
            let content = dice.bytes()
            return marker(4, content.count) + content
        case 6, 7:
            let text = dice.bytes().map { $0 & 0x7F }
            return marker(5, text.count) + text
        case 8:
            let units = Array(dice.text().utf16)
            return marker(6, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        case 9: return [0x80 | UInt8(dice.number(below: 2)), dice.byte()]
        case 10:
            let number = dice.number(below: 40)
            return marker([0xA, 0xC][dice.number(below: 2)], number) + references(number, &dice)
        case 11:
            let number = dice.number(below: 40)
            return marker(0xA, number) + references(number, &dice)
        default:
            let number = dice.number(below: 20)
            return marker(0xD, number) + references(number * 2, &dice)
        }
    }
}
