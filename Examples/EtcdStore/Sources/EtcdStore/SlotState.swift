import BackendContract
import Foundation
import SwiftProtobuf

/// The state of a slot, as the cluster returned it.
struct SlotState: Sendable {
    let key: Data
    /// The content; nil for an empty slot.
    let content: EtcdKeyValue?

    /// The number of the change that wrote the slot; 0 for an empty slot.
    var number: Int64 { content?.modRevision ?? 0 }

    /// The state, as a read returns it. The value in etcd is a record in record format 1, with an empty revision.
    var probe: StorageProbe {
        guard let content else { return .absent }
        let revision = SlotRevision.revision(content.modRevision, of: key)
        let bytes = [UInt8](content.value)
        switch RecordCodec.decode(bytes) {
        case .record(let record):
            return .value(StorageRecord(payload: record.payload, metadata: record.metadata, revision: revision))
        case .tombstone(let tombstone): return .tombstone(StorageTombstone(metadata: tombstone.metadata, revision: revision))
        case .foreign: return .corrupt(StorageCorruption(bytes: bytes, revision: revision, reason: "the bytes are not a record"))
        case .damaged(let how):
            return .corrupt(StorageCorruption(bytes: bytes, revision: revision, reason: "the record is damaged: it \(how)"))
        case .unknownFormat(let version):
            return .unavailable(
                BackendError(
                    .unsupported, "The record has format \(version); this version reads format 1. Update the program that reads it."))
        }
    }
}

extension EtcdCluster {
    /// Reads keys in one transaction. A majority confirms that the result is the latest state.
    func states(_ keys: [Data], until deadline: ContinuousClock.Instant) async throws(EtcdFault) -> [SlotState] {
        let request = EtcdTxnRequest.with { $0.success = keys.map(EtcdRequestOp.range) }
        let answer = try await call(EtcdMethods.transaction, request, until: deadline)
        return try states(keys, answer)
    }

    /// Returns the states of keys, which a transaction has read in this order.
    func states(_ keys: [Data], _ answer: EtcdTxnResponse) throws(EtcdFault) -> [SlotState] {
        guard answer.responses.count == keys.count else { throw EtcdFault(.unreachable, "The answer of a member is incomplete.") }
        return zip(keys, answer.responses).map { SlotState(key: $0, content: $1.responseRange.kvs.first) }
    }
}

extension EtcdRequestOp {
    static func range(_ key: Data) -> EtcdRequestOp { .with { $0.requestRange.key = key } }

    static func delete(_ key: Data) -> EtcdRequestOp { .with { $0.requestDeleteRange.key = key } }

    static func put(_ value: Data, at key: Data, lease: Int64 = 0) -> EtcdRequestOp {
        .with {
            $0.requestPut.key = key
            $0.requestPut.value = value
            $0.requestPut.lease = lease
        }
    }
}

extension EtcdCompare {
    /// The condition that a key is in the state with a number; 0 for an absent key.
    static func isUnchanged(_ key: Data, _ number: Int64) -> EtcdCompare {
        .with {
            $0.target = .mod
            $0.key = key
            $0.modRevision = number
        }
    }
}
