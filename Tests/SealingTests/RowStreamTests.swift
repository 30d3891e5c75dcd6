import BackendContract
import BackendRuntime
import Testing

@testable import Sealing

/// What a row says of a content in chunks, and the chunks themselves. Stores with such values: `StreamTests`.
struct RowStreamTests {
    private let database = [UInt8](repeating: 7, count: 16)
    private let address = StorageAddress("large")

    @Test func `what fills a chunk up is zeros, or the chunk is damaged`() throws {
        let stream = RowStream(place: 0, length: 100, Runtime.live.randomBytes)
        #expect(stream.count == 1 && stream.paddedLength > 100)
        for changed in [nil, 100, Int(stream.paddedLength) - 1] {
            var chunk = [UInt8](repeating: 9, count: 100) + [UInt8](repeating: 0, count: Int(stream.paddedLength) - 100)
            if let changed { chunk[changed] = 1 }
            var sealer = stream.sealer(database: database, address)
            let sealed = try sealer.seal(chunk, isLast: true)
            if changed == nil {
                #expect(try stream.open(sealed, number: 0, database: database, address) == Array(chunk[..<100]))
            } else {
                let error = #expect(throws: BackendError.self) { try stream.open(sealed, number: 0, database: database, address) }
                #expect(error?.code == .corrupted)
            }
        }
    }
}
