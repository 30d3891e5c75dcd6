import BackendRuntime
import Synchronization
import TestSupport
import Testing

/// Random bytes come from the injected generator, which is asked for no more words than needed.
@Suite(.inTurn) struct RandomBytesTests {
    @Test(arguments: [(0, 0), (1, 1), (8, 1), (9, 2), (24, 3), (31, 4)])
    func `random bytes are taken from 64-bit words of the generator, the lowest byte of a word first`(count: Int, words: Int) {
        let asked = Mutex<UInt64>(0)
        var runtime = Runtime.live
        runtime.randomness = Randomness(words: {
            asked.withLock { number in
                number += 1
                return number << 56 | 0x06_0504_0302_0100
            }
        })
        let expected: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 1, 0, 1, 2, 3, 4, 5, 6, 2, 0, 1, 2, 3, 4, 5, 6, 3, 0, 1, 2, 3, 4, 5, 6, 4]
        #expect(runtime.randomBytes(count) == Array(expected[..<count]))
        #expect(asked.withLock { $0 } == words)
    }

    @Test(arguments: [0, 1, 24, 256, 257, 70_000]) func `the system generator fills all bytes and differs on every call`(count: Int) {
        let (first, second) = (Runtime.live.randomBytes(count), Runtime.live.randomBytes(count))
        #expect(first.count == count)
        guard count >= 24 else { return }
        #expect(first != second)
        // 24 bytes in a row are never zero by chance.
        for start in stride(from: 0, to: count - 23, by: 24) { #expect(first[start..<start + 24].contains { $0 != 0 }) }
        #expect(first.suffix(24).contains { $0 != 0 })
    }
}
