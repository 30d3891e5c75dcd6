import BackendContract
import TestSupport
import Testing

@testable import LocalDataCaches

/// Tests of the records that a cache keeps beside its values.
@Suite struct CacheFormatTests {
    private func head(commits: Int) -> CacheHead {
        (0..<commits).reduce(CacheHead(store: 7)) { head, number in
            head.after([("a\(number)", number.isMultiple(of: 3) ? nil : number, number.isMultiple(of: 2) ? nil : Double(number))])
        }
    }

    @Test(arguments: [0, 1, 5, 64, 200]) func `a decoded head equals the encoded one`(commits: Int) throws {
        let head = head(commits: commits)
        #expect(try CacheHead(head.bytes) == head)
    }

    @Test func `a head has all changes since an older head, or none of them`() throws {
        let (old, new) = (head(commits: 100), head(commits: 164))
        #expect(try #require(new.changes(since: old)).map(\.commit) == (101...164).map { UInt64($0) })
        #expect(new.changes(since: head(commits: 99)) == nil)
        #expect(new.changes(since: new)?.isEmpty == true)
        #expect(old.changes(since: new) == nil)
        #expect(CacheHead(store: 8, commit: 164).changes(since: new) == nil)
    }

    @Test func `a head has only the number of a commit with too many changes`() throws {
        let large = head(commits: 3).after((0...CacheHead.maximumChanges).map { ("b\($0)", 1, nil) })
        #expect(large.commit == 4 && large.changes.isEmpty)
        #expect(large.changes(since: head(commits: 3)) == nil)
        #expect(large.after([("c", 1, nil)]).changes(since: large)?.count == 1)
    }

    @Test func `no damage of a head or an order of use stops the process`() {
        let entry = CacheIndex.Entry(StorageAddress("a"), size: 1, expiresAt: nil, stamp: UseStamp(commit: 1, use: 2))
        var generator = SeededGenerator(3)
        for bytes in [head(commits: 10).bytes, UseOrder.bytes(of: [entry])] {
            for length in bytes.indices {
                _ = try? CacheHead(Array(bytes.prefix(length)))
                _ = UseOrder.stamps(in: Array(bytes.prefix(length)))
            }
            for _ in 0..<500 {
                var changed = bytes
                changed[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
                _ = try? CacheHead(changed)
                _ = UseOrder.stamps(in: changed)
            }
        }
        #expect(UseOrder.stamps(in: UseOrder.bytes(of: [entry])) == ["a": UseStamp(commit: 1, use: 2)])
    }
}
