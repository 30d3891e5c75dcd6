import BackendContract
import Foundation

@testable import DefaultsBackend

/// Property lists as this library, Foundation and other programs write them.
enum PropertyListSeeds {
    static var files: [[UInt8]] {
        var document = PropertyListDocument()
        for (number, record) in RecordSeeds.records.enumerated() {
            document.replace(PropertyListSlot(StorageAddress("value \(number)"), record.payload, record.metadata, record.revision))
        }
        let native = StorageNamespace("namespace")
        document.replace(PropertyListSlot(StorageAddress("other", in: native), .bytes([1]), RecordSeeds.metadata, StorageRevision([5])))
        document.replace(PropertyListSlot(tombstoneAt: StorageAddress("removed"), RecordSeeds.metadata, StorageRevision([6])))
        let whole = (try? document.encoded()) ?? []
        return [whole, (try? PropertyListDocument().encoded()) ?? []] + small + foundation + texts.map { Array($0.utf8) }
    }

    /// Property lists with one slot each.
    private static var small: [[UInt8]] {
        RecordSeeds.records.prefix(6).compactMap { record in
            var document = PropertyListDocument()
            document.replace(PropertyListSlot(StorageAddress("a"), record.payload, StorageMetadata(), record.revision))
            return try? document.encoded()
        }
    }

    private static var foundation: [[UInt8]] {
        let values: [String: Any] = [
            "text": "t\u{E9}xt", "ascii": "text", "number": NSNumber(value: -5), "large": NSNumber(value: UInt64.max),
            "real": NSNumber(value: 0.5), "flag": NSNumber(value: true), "date": Date(timeIntervalSinceReferenceDate: 1.5),
            "data": Data([1, 2, 3]), "list": [1, "two", [3]] as [Any], "nested": ["inner": ["a": 1]],
        ]
        return [PropertyListSerialization.PropertyListFormat.xml, .binary].compactMap { format in
            (try? PropertyListSerialization.data(fromPropertyList: values, format: format, options: 0)).map { Array($0) }
        }
    }

    private static let texts = [
        "<plist><dict><key>a</key><string>b</string></dict></plist>",
        "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>&#233;&amp;</key><string><![CDATA[<key>]]></string><!-- <key> --></dict></plist>",
        "<plist><dict><key>n</key><integer>0x1F</integer><key>r</key><real>nan</real><key>d</key><date>2001-01-01T00:00:00Z</date></dict></plist>",
        "<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>",
        "<plist><dict><key>b</key><data>AQID</data><key>l</key><array><array/><dict/></array></dict></plist>",
        "<plist><dict><key>LocalData.metadata</key><dict><key>format</key><integer>2</integer></dict></dict></plist>",
        "<plist><dict><key>LocalData.metadata</key><dict><key>format</key><integer>1</integer><key>extra</key><true/><key>entries</key><dict><key>x</key><dict><key>revision</key><string>00ff</string><key>tombstone</key><true/></dict></dict></dict></dict></plist>",
        "{ a = b; }",
    ]

    /// Inputs for ``BinaryPropertyList``: a few objects of every kind.
    static let objects: [[UInt8]] = [
        [3, 2, 1, 2, 3, 0, 6, 1, 97, 6, 1, 98, 1, 0, 5],
        [8, 4, 1, 2, 3, 4, 5, 6, 7, 8, 6, 1, 97, 6, 1, 98, 6, 1, 99, 6, 1, 100, 0, 1, 11, 2, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 12, 1, 1, 5],
        Array(0...255), [40, 1, 1, 2, 6, 1, 97] + Array(repeating: [11, 2, 3, 4], count: 30).flatMap { $0 },
    ]

    /// Inputs for ``Dice``: addresses, metadata and payloads.
    static let states: [[UInt8]] = [
        [0, 3, 97, 98, 99, 1, 4, 106, 115, 111, 110, 9, 2, 1, 2, 1, 1, 0, 2, 104, 105],
        [1, 2, 110, 115, 1, 98, 0, 7, 0, 1, 0, 3, 1, 2, 3],
        [0, 1, 60, 128, 2, 1, 38, 1, 62, 1, 13, 1, 0, 5, 1, 0, 1, 1, 10, 2, 1, 38, 0, 3, 60, 62, 34],
    ]
}

extension PropertyListDocument {
    /// The bytes of the property list, encoded from scratch.
    func encoded() throws(BackendError) -> [UInt8] {
        var copy = self
        return try copy.encode(over: [])
    }
}
