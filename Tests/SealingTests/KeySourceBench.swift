import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Sealing
import TestSupport
import Testing

/// The folder, the keys and the deadline that tests of key sources share.
struct KeySourceBench {
    let folder: TemporaryDirectory
    let deadline = Duration.seconds(60)
    let key = SealingKey(key: SymmetricKey(data: [UInt8](repeating: 0xA7, count: 32)))
    let otherKey = SealingKey(key: SymmetricKey(data: [UInt8](repeating: 0x3C, count: 32)))

    init() throws { folder = try TemporaryDirectory() }
}

/// Returns the code of the error that some work throws, or nil if it throws none.
func code(_ work: () async throws(BackendError) -> some Any) async -> BackendError.Code? {
    do throws(BackendError) {
        _ = try await work()
        return nil
    } catch {
        return error.code
    }
}

extension SealingKey {
    /// Returns whether two keys have the same bytes and the same id.
    func isSame(as other: SealingKey?) -> Bool { id == other?.id && key == other?.key }
}

/// Texts that are not a key of this library. The last but one has an id that does not belong to its key.
let foreignTexts = [
    "", "\n", "garbage", "LocalData-key-1", "LocalData-key-1 0102030405060708 ", "LocalData-key-1 0102030405060708 AAAA",
    "LocalData-key-1 010203040506070 p6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6c=",
    "LocalData-key-2 0102030405060708 p6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6c=",
    "LocalData-key-1 0102030405060708 p6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6c=",
    "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ",
]
