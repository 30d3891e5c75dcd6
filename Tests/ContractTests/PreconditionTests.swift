import BackendContract
import TestSupport
import Testing

/// Tests of which changes apply in which state of a slot, for each precondition.
/// A slot is a named place for one record. A change whose precondition does not hold is a conflict.
/// The precondition `replaceable(version:)` protects a value of a later schema version, and a record with an origin.
/// An origin is metadata that names the older copies that the record replaced.
@Suite(.inTurn) struct PreconditionTests {
    private static let address = StorageAddress("x")
    private static let (seen, other) = (StorageRevision([1]), StorageRevision([2]))
    private static let operations: [StorageMutation.Operation] = [
        .put(.bytes([1]), StorageMetadata()), .delete, .tombstone(StorageMetadata()),
    ]
    private static let offline = BackendError(.unavailable, "The bus is gone.")

    private static let value = StorageProbe.value(StorageRecord(payload: .bytes([0]), revision: seen))
    private static let foreign = StorageProbe.value(StorageRecord(payload: .bytes([0]), revision: seen, isForeign: true))
    private static let tombstone = StorageProbe.tombstone(StorageTombstone(revision: seen))
    private static let damage = StorageProbe.corrupt(StorageCorruption(bytes: [9], revision: seen, reason: "torn"))
    private static let wholeDamage = StorageProbe.corrupt(StorageCorruption(bytes: [9], revision: nil, reason: "torn"))

    /// Whether a change applies in each state, for each of four preconditions: none, that the slot is absent,
    /// that it has the revision of the state, and that it has another revision.
    private static let table: [(state: StorageProbe, none: Bool, absent: Bool, own: Bool, other: Bool)] = [
        (.absent, true, true, false, false),
        (value, true, false, true, false),
        (foreign, true, false, true, false),
        (tombstone, true, false, true, false),
        (damage, false, false, true, false),
        (wholeDamage, false, false, false, false),
    ]

    @Test func `a change applies or conflicts as the table says for its precondition and the state of the slot`() {
        for row in Self.table {
            for operation in Self.operations {
                for (precondition, mayHappen) in [
                    (StorageMutation.Precondition.none, row.none), (.absent, row.absent), (.revision(Self.seen), row.own),
                    (.revision(Self.other), row.other),
                ] {
                    let refusal = row.state.refusal(of: StorageMutation(Self.address, operation, if: precondition))
                    #expect(refusal == (mayHappen ? nil : .conflict(row.state)), "\(row.state) with \(precondition)")
                }
            }
        }
    }

    @Test
    func `the precondition replaceable conflicts with values of a later version and with origins, and else acts like no precondition`() {
        func value(_ version: Int?) -> StorageProbe {
            .value(StorageRecord(payload: .bytes([0]), metadata: StorageMetadata(schemaVersion: version), revision: Self.seen))
        }
        func refusal(of operation: StorageMutation.Operation, on state: StorageProbe, _ version: Int) -> MutationResult? {
            state.refusal(of: StorageMutation(Self.address, operation, if: .replaceable(version: version)))
        }
        let laterGrave = StorageProbe.tombstone(StorageTombstone(metadata: StorageMetadata(schemaVersion: 9), revision: Self.seen))
        for operation in Self.operations {
            for earlier in [nil, 0, 1, 2] { #expect(refusal(of: operation, on: value(earlier), 2) == nil) }
            for later in [3, Int.max] { #expect(refusal(of: operation, on: value(later), 2) == .conflict(value(later))) }
            #expect(refusal(of: operation, on: value(Int.max), Int.max) == nil)
            #expect(refusal(of: operation, on: laterGrave, 2) == nil)
            for row in Self.table {
                let expected = row.state.refusal(of: StorageMutation(Self.address, operation))
                #expect(refusal(of: operation, on: row.state, 2) == expected, "\(row.state)")
            }
            let past = StorageMetadata(schemaVersion: 1, origin: [1])
            for state in [
                StorageProbe.value(StorageRecord(payload: .bytes([0]), metadata: past, revision: Self.seen)),
                .tombstone(StorageTombstone(metadata: past, revision: Self.seen)),
            ] {
                for version in [1, nil] {
                    let mutation = StorageMutation(Self.address, operation, if: .replaceable(version: version))
                    #expect(state.refusal(of: mutation) == .conflict(state), "\(state)")
                }
            }
            let anyVersion = StorageMutation(Self.address, operation, if: .replaceable(version: nil))
            #expect(value(Int.max).refusal(of: anyVersion) == nil)
        }
    }

    @Test func `no change applies in a store that is locked or unavailable`() {
        for precondition in [StorageMutation.Precondition.none, .absent, .revision(Self.seen), .replaceable(version: 1)] {
            let mutation = StorageMutation.delete(Self.address, if: precondition)
            #expect(StorageProbe.locked.refusal(of: mutation) == .locked)
            #expect(StorageProbe.unavailable(Self.offline).refusal(of: mutation) == .failed(Self.offline))
        }
    }
}
