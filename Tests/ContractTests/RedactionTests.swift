import BackendContract
import TestSupport
import Testing

/// Descriptions and dumps of records never show their content.
@Suite(.inTurn) struct RedactionTests {
    static let secret = "hunter2-hunter2"

    static let holders: [any Sendable] = [
        StoragePayload.bytes(Array(secret.utf8)), StoragePayload.native(.string(secret)),
        NativeValue.dictionary([secret: .array([.string(secret), .data(Array(secret.utf8))])]),
        StorageProbe.value(StorageRecord(payload: .native(.string(secret)), revision: StorageRevision(Array(secret.utf8)))),
        StorageProbe.corrupt(StorageCorruption(bytes: Array(secret.utf8), revision: StorageRevision(Array(secret.utf8)), reason: "torn")),
        StorageMutation.put(.bytes(Array(secret.utf8)), at: StorageAddress("name")),
        MutationResult.conflict(.value(StorageRecord(payload: .bytes(Array(secret.utf8)), revision: StorageRevision([1])))),
    ]

    @Test(arguments: holders.indices) func `printing or dumping a value, a record, a change or a result shows no content`(index: Int) {
        let holder = Self.holders[index]
        var dumped = ""
        dump(holder, to: &dumped)
        let numbers = Self.secret.utf8.prefix(4).map(String.init).joined(separator: ", ")
        let lines = Self.secret.utf8.prefix(4).map { "- \($0)" }.joined(separator: "\n")
        for text in ["\(holder)", String(describing: holder), String(reflecting: holder), dumped] {
            #expect(!text.contains(Self.secret))
            #expect(!text.contains(numbers))
            #expect(!text.contains(lines))
        }
    }
}
