import Foundation
import TestSupport
import Testing

@testable import RealFaults

/// Tests of the images of a disk after a power cut, from a record of changes that the test writes itself.
@Suite struct DiskImageTests {
    private let folder: TemporaryDirectory
    private let root: String
    private let inode: UInt64
    private let page = [UInt8](repeating: UInt8(ascii: "a"), count: 4_096)

    /// Creates the folder `root` with the file `file`, which has two pages of the byte `a`.
    init() throws {
        folder = try TemporaryDirectory()
        root = try folder.folder("root")
        try Data(page + page).write(to: URL(filePath: "\(root)/file"))
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(root)/file")
        inode = try #require(attributes[.systemFileNumber] as? NSNumber).uint64Value
    }

    /// Reads a record with the given lines of the shim. A text with a colon, such as `write 0:bbb`, writes bytes at an
    /// offset.
    private func record(_ lines: String...) throws -> DiskRecord {
        var log = ""
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            if words[0] == "write" {
                let parts = words[1].split(separator: ":").map(String.init)
                log += "write \(inode) \(parts[0]) \(parts[1].utf8.count)\n\(parts[1])\n"
            } else if ["sync", "lose", "revert"].contains(words[0]) {
                log += "\(words[0]) \(inode)\n"
            } else {
                log += "\(line)\n"
            }
        }
        let path = folder.file("log")
        try Data(log.utf8).write(to: URL(filePath: path))
        var record = try DiskRecord(folder: root)
        try record.read(path)
        return record
    }

    /// The bytes of the file in an image: three from the beginning of each page, and those after the second page.
    private func content(_ image: CrashImages.Image) -> String {
        let bytes = image.nodes.values.first { !$0.isFolder }?.bytes ?? []
        let parts = [bytes.prefix(3), bytes.dropFirst(4_096).prefix(3), bytes.dropFirst(8_192)]
        return parts.map { String(decoding: $0.map(Self.shown), as: UTF8.self) }.joined(separator: " ")
    }

    /// Shows a zero as the digit, and a byte that no program wrote as a question mark.
    private static func shown(_ byte: UInt8) -> UInt8 { byte == 0 ? UInt8(ascii: "0") : byte == 0xA5 ? UInt8(ascii: "?") : byte }

    private func contents(_ images: [CrashImages.Image]) -> Set<String> { Set(images.map(content)) }

    @Test func `a flush after a failed one does not write the dropped pages`() throws {
        let images = CrashImages(record: try record("write 0:bbb", "lose", "sync", "mark told acknowledged"))
        #expect(contents(images.afterFailedFlush(.content)) == ["aaa aaa "])
        #expect(images.afterFailedFlush(.content).last?.told == "acknowledged")
    }

    @Test func `a page that is changed again is written as a whole`() throws {
        let changed = try record("write 0:bbb", "write 4096:bbb", "lose", "write 8:c", "sync")
        let images = CrashImages(record: changed).afterFailedFlush(.content)
        #expect(content(try #require(images.last)) == "bbb aaa ")
        #expect(contents(images) == ["aaa aaa ", "bbb aaa "])
    }

    @Test func `a failed flush can drop one page only, or the content of a new part of the file`() throws {
        let images = CrashImages(record: try record("write 0:bbb", "write 8192:bbb", "lose"))
        #expect(contents(images.afterFailedFlush(.everything)) == ["aaa aaa "])
        #expect(contents(images.afterFailedFlush(.content)) == ["aaa aaa 000"])
        #expect(contents(images.afterFailedFlush(.contentWithGarbage)) == ["aaa aaa ???"])
        #expect(contents(images.afterFailedFlush(.firstPage)) == ["aaa aaa bbb"])
        #expect(contents(images.afterFailedFlush(.lastPage)) == ["bbb aaa 000"])
    }

    @Test func `reverted pages do not return when their page is changed again`() throws {
        let images = CrashImages(record: try record("write 0:bbb", "revert", "write 4:c", "sync")).afterFailedFlush(.everything)
        #expect(contents(images) == ["aaa aaa "])
    }

    @Test func `a write is torn into thirds and blocks, and a file can have its size without its content`() throws {
        let found = contents(CrashImages(record: try record("write 4094:bbbbbb")).alice())
        // The write changes the last two bytes of the first page, and four of the second one.
        #expect(found.isSuperset(of: ["aaa aaa ", "aaa bba ", "aaa bbb "]))
        let appended = contents(CrashImages(record: try record("write 8192:bbb", "write 0:c")).alice())
        #expect(appended.isSuperset(of: ["aaa aaa 000", "aaa aaa ???", "aaa aaa b", "aaa aaa b00", "aaa aaa 00b", "caa aaa 000"]))
    }

    @Test func `renames and removals are divided only on request`() throws {
        let renamed = try record("rename \(inode) /file", "/other")
        let names = { (images: [CrashImages.Image]) in
            Set(images.map { image in (image.nodes[DiskRecord.root]?.entries.keys).map { $0.sorted().joined(separator: " ") } ?? "" })
        }
        #expect(names(CrashImages(record: renamed).alice()).isEmpty)
        #expect(names(CrashImages(record: renamed).alice(dividesNames: true)) == ["", "file", "file other"])
    }

    @Test func `after an unknown outcome, a later refusal leaves both states possible, and an acknowledgement only one`() {
        func told(_ lines: String...) -> String? {
            var answer = LastAnswer()
            for line in lines { answer.hear(line) }
            return answer.told
        }
        #expect(told("told notApplied failed") == "notApplied")
        #expect(told("told unknown failed", "lifted", "again notApplied failed") == nil)
        #expect(told("told notApplied failed", "lifted", "again notApplied failed") == "notApplied")
        #expect(told("told unknown failed", "begins", "again acknowledged") == "acknowledged")
        #expect(told("told acknowledged", "lifted", "again notApplied failed") == "acknowledged")
        #expect(told("begins") == nil)
    }
}
