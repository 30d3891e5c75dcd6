import Foundation
import LocalData
import LocalDataImporters
import TestSupport
import Testing

/// Archives of `NSKeyedArchiver`, which are read without classes.
struct KeyedArchiveTests {
    private struct Owner: Codable, Equatable { var name: String }

    private struct Profile: Codable, Equatable {
        var name: String
        var alias: String
        var age: Int
        var height: Double
        var admin: Bool
        var nickname: String?
        var born: Date
        var photo: Data
        var id: UUID
        var site: URL
        var tags: [String]
        var colors: Set<String>
        var scores: [String: Double]
        var byNumber: [Int: String]
        var owner: Owner
    }

    @Test(arguments: ["profile.archive", "profile-xml.archive"])
    func `an object of an unknown class decodes as a struct with the same properties`(_ name: String) throws {
        let profile: Profile = try KeyedArchive(try ImportFixture.data(name)).decode()
        let expected = Profile(
            name: ImportFixture.secret, alias: ImportFixture.secret, age: 42, height: 1.75, admin: true, nickname: nil,
            born: Date(timeIntervalSinceReferenceDate: 1_000), photo: Data([0, 255, 16]),
            id: try #require(UUID(uuidString: "12345678-9ABC-DEF0-1234-56789ABCDEF0")),
            site: try #require(URL(string: "https://example.com/a/b?c=d#e")), tags: ["red", "blue"], colors: ["green"],
            scores: ["a": 1, "b": 2.5], byNumber: [7: "seven"], owner: Owner(name: "Sam"))
        #expect(profile == expected)
    }

    @Test func `an object keeps the name of its class, and a null stays a null`() throws {
        let root = try #require(try KeyedArchive(try ImportFixture.data("profile.archive")).values["root"]?.object)
        #expect(root["$class"] == "Old.Profile")
        #expect(root["owner"]?.object?["$class"] == "Old.Owner")
        #expect(root["nickname"] == .null)
        #expect(root["absent"] == .null)
        #expect(root["note"] == "two\nlines")
        #expect(try KeyedArchive(try ImportFixture.data("null-in-list.archive")).values["root"] == ["a", .null])
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func `an archive that Foundation wrote is read with every value`(_ format: PropertyListSerialization.PropertyListFormat) throws {
        let base = URL(string: "https://example.com/a/")
        let root: NSDictionary = [
            "list": ["x", 2.5, 3] as NSArray, "date": NSDate(timeIntervalSinceReferenceDate: 5), "large": NSNumber(value: UInt64.max),
            "url": try #require(NSURL(string: "b?c", relativeTo: base)), "set": NSSet(array: ["q"]), "null": NSNull(),
            "data": NSData(bytes: [1, 2] as [UInt8], length: 2), "text": NSMutableString(string: "changed"),
        ]
        let archiver = NSKeyedArchiver(requiringSecureCoding: false)
        archiver.outputFormat = format
        archiver.encode(root, forKey: "root")
        archiver.encode(7, forKey: "number")
        archiver.finishEncoding()
        let values = try KeyedArchive(archiver.encodedData).values
        #expect(
            values == [
                "number": 7,
                "root": [
                    "list": ["x", 2.5, 3], "date": .date(Date(timeIntervalSinceReferenceDate: 5)), "large": .unsigned(.max),
                    "url": "https://example.com/a/b?c", "set": ["q"], "null": .null, "data": .data(Data([1, 2])), "text": "changed",
                ],
            ])
    }

    @Test func `an archive with 40 nested lists is read`() throws {
        var value = try #require(try KeyedArchive(try ImportFixture.data("nested.archive")).values["root"])
        for _ in 0..<40 { value = try #require(value.array?.first) }
        #expect(value == "deep")
    }

    // MARK: Damage

    @Test(arguments: ImportFixture.damagedArchives)
    func `a damaged archive throws undecodable, and the error contains no value`(_ name: String) async throws {
        let data = try ImportFixture.data(name)
        await expectRefusal(StorageError.undecodable, hiding: [ImportFixture.secret]) { _ = try KeyedArchive(data) }
    }

    @Test(arguments: ImportFixture.unsupportedArchives)
    func `an archive that is endless or of another kind throws unsupported`(_ name: String) async throws {
        let data = try ImportFixture.data(name)
        await expectRefusal(StorageError.unsupported, hiding: [ImportFixture.secret]) { _ = try KeyedArchive(data) }
    }

    @Test func `every beginning of an archive that is cut off throws an error`() throws {
        let whole = try ImportFixture.data("profile.archive")
        for count in 0..<whole.count {
            #expect(throws: StorageError.self, "\(count) bytes") { _ = try KeyedArchive(whole.prefix(count)) }
        }
    }

    @Test func `an object of another type throws undecodable, and the error contains no value`() async throws {
        let archive = try KeyedArchive(try ImportFixture.data("profile.archive"))
        struct Numbers: Codable { var name: Int }
        await expectRefusal(StorageError.undecodable, hiding: [ImportFixture.secret]) { _ = try archive.decode(Numbers.self) }
        await expectRefusal(StorageError.notFound, of: "other") { _ = try archive.decode(Numbers.self, named: "other") }
    }
}
