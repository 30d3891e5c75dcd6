import BackendContract
import Foundation
import SwiftProtobuf

/// A batch of changes, which one transaction makes.
///
/// The transaction compares the number of each slot's latest change, and makes the changes if all slots are as the batch has seen them.
/// It also writes a *mark* under a new key. If its answer is lost, a second transaction writes another mark under this key, unless there
/// is one. The mark that the key has then states whether the first transaction was carried out. If it was not, it never will be, because
/// it compares the key of the mark too.
struct EtcdBatch: Sendable {
    private struct Change: Sendable {
        let mutation: StorageMutation
        let key: Data
        /// The record to store; nil for a change that stores none.
        let value: Data?
    }

    private enum Outcome {
        /// The changes were made by the change with this number.
        case applied(Int64)
        /// A slot was not in the expected state, and nothing was changed. Contains the states of all slots.
        case outdated([SlotState])
    }

    private let changes: [Change]
    private let cluster: EtcdCluster

    private static let done = Data("done".utf8)
    private static let refused = Data("refused".utf8)

    /// Encodes the changes.
    /// - Throws: `tooLarge` for more changes than a transaction can have, or for changes that are together too large for a request.
    init(_ mutations: [StorageMutation], _ keys: SlotKeys, _ cluster: EtcdCluster) throws(BackendError) {
        self.cluster = cluster
        // One operation is for the mark.
        guard mutations.count < cluster.maximumOperations else {
            throw BackendError(
                .tooLarge,
                """
                The call has \(mutations.count) changes, and a transaction takes at most \(cluster.maximumOperations - 1). Make several \
                calls, or raise --max-txn-ops and EtcdCluster.maximumOperations. Nothing was changed.
                """)
        }
        changes = mutations.map { mutation in
            let none = StorageRevision([])
            let value: [UInt8]? =
                switch mutation.operation {
                case .put(let payload, let metadata):
                    RecordCodec.encode(StorageRecord(payload: payload, metadata: metadata, revision: none))
                case .tombstone(let metadata): RecordCodec.encode(StorageTombstone(metadata: metadata, revision: none))
                case .delete, .check: nil
                }
            return Change(mutation: mutation, key: keys.key(mutation.address), value: value.map { Data($0) })
        }
        // A key occurs three times: in a comparison, in a change, and in a read.
        let size = changes.reduce(1_024) { $0 + ($1.value?.count ?? 0) + 3 * $1.key.count + 64 }
        guard size <= EtcdCluster.maximumRequestSize else {
            throw BackendError(
                .tooLarge,
                """
                The changes have \(size) bytes together, and a transaction takes at most \(EtcdCluster.maximumRequestSize). Make several \
                calls. Nothing was changed.
                """)
        }
    }

    /// Makes the changes, unless a precondition does not hold.
    /// - Parameters:
    ///   - deadline: The time after which no transaction is sent.
    ///   - limit: The time until which a transaction without an answer is settled.
    func results(
        until deadline: ContinuousClock.Instant, settledBy limit: ContinuousClock.Instant
    ) async throws(EtcdFault) -> [MutationResult] {
        var seen = expectedNumbers
        while true {
            let states: [SlotState]
            if let numbers = seen, !areUnwritten(numbers) {
                switch try await commit(over: numbers, until: deadline, settledBy: limit) {
                case .applied(let number): return applied(over: numbers, by: number)
                case .outdated(let found): states = found
                }
            } else {
                states = try await cluster.states(changes.map(\.key), until: deadline)
            }
            if let results = refusals(states) { return results }
            let numbers = states.map(\.number)
            // All preconditions held at the revision at which the states were read.
            if areUnwritten(numbers) { return applied(over: numbers, by: 0) }
            seen = numbers
        }
    }

    /// Whether the changes write nothing over states with these numbers: they are checks, and deletes of empty slots.
    private func areUnwritten(_ numbers: [Int64]) -> Bool {
        zip(changes, numbers).allSatisfy { change, number in
            change.value == nil && (change.mutation.operation == .check || number == 0)
        }
    }

    /// The numbers of the states that the preconditions name; nil if a precondition depends on the content of its slot.
    private var expectedNumbers: [Int64]? {
        var numbers: [Int64] = []
        for change in changes {
            switch change.mutation.precondition {
            case .absent: numbers.append(0)
            case .revision(let revision):
                guard let number = SlotRevision.number(revision, of: change.key) else { return nil }
                numbers.append(number)
            case .none, .replaceable: return nil
            }
        }
        return numbers
    }

    /// Returns the results if a precondition does not hold; nil if all hold.
    private func refusals(_ states: [SlotState]) -> [MutationResult]? {
        for (index, (change, state)) in zip(changes, states).enumerated() {
            if let refusal = state.probe.refusal(of: change.mutation) {
                return changes.indices.map { $0 == index ? refusal : .notAttempted }
            }
        }
        return nil
    }

    /// Returns the results of changes that were made by the change with a number.
    private func applied(over numbers: [Int64], by number: Int64) -> [MutationResult] {
        zip(changes, numbers).map { change, old in
            let new =
                switch change.mutation.operation {
                case .put, .tombstone: number
                case .delete: 0 as Int64
                case .check: old
                }
            return .applied(new == 0 ? nil : SlotRevision.revision(new, of: change.key), .durable)
        }
    }

    // MARK: Transactions

    private func commit(
        over numbers: [Int64], until deadline: ContinuousClock.Instant, settledBy limit: ContinuousClock.Instant
    ) async throws(EtcdFault) -> Outcome {
        var retries = EtcdRetries(deadline)
        while true {
            // A transaction that is sent again gets another mark: the earlier one certainly has no effect.
            let mark = newMark()
            let lease = try await cluster.lease(until: deadline)
            var fault: EtcdFault
            do throws(EtcdFault) {
                let answer = try await cluster.attempt(
                    EtcdMethods.transaction, transaction(over: numbers, mark: mark, lease: lease), until: deadline)
                if answer.succeeded { return .applied(answer.header.revision) }
                return .outdated(try cluster.states(changes.map(\.key), answer))
            } catch { fault = error }
            if fault.mayHaveEffect {
                if let number = try await settle(mark, lease: lease, until: limit) { return .applied(number) }
                fault.mayHaveEffect = false
            }
            if fault.kind == .leaseGone { cluster.forget(lease: lease) } else { try await retries.wait(after: fault) }
        }
    }

    /// Returns a key for a mark, which was never used before.
    func newMark() -> Data {
        let digits = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
        return Data("\(cluster.prefix)/t/\(digits[0])-\(digits[1])".utf8)
    }

    /// Returns the transaction that makes the changes.
    /// - Parameters:
    ///   - numbers: The numbers of the slots' expected states.
    ///   - mark: The key of the mark.
    ///   - lease: The lease with which the mark ends.
    func transaction(over numbers: [Int64], mark: Data, lease: Int64) -> EtcdTxnRequest {
        var request = EtcdTxnRequest()
        request.compare = [.isUnchanged(mark, 0)]
        request.success = [.put(Self.done, at: mark, lease: lease)]
        for (change, number) in zip(changes, numbers) {
            request.compare.append(.isUnchanged(change.key, number))
            request.failure.append(.range(change.key))
            if let value = change.value {
                request.success.append(.put(value, at: change.key))
            } else if change.mutation.operation == .delete, number != 0 {
                request.success.append(.delete(change.key))
            }
        }
        return request
    }

    /// Settles a transaction without an answer: it has been carried out, or it never will be.
    ///
    /// Both marks have the lease of the transaction. Once this lease has ended, the cluster refuses the transaction, and the mark of a
    /// transaction that was carried out is gone.
    /// - Returns: The number of the change that the transaction made; nil if it has no effect.
    /// - Throws: ``EtcdFault`` with ``EtcdFault/mayHaveEffect`` if the cluster does not answer before the limit, or the lease has ended.
    func settle(_ mark: Data, lease: Int64, until limit: ContinuousClock.Instant) async throws(EtcdFault) -> Int64? {
        let request = EtcdTxnRequest.with {
            $0.compare = [.isUnchanged(mark, 0)]
            $0.success = [.put(Self.refused, at: mark, lease: lease)]
            $0.failure = [.range(mark)]
        }
        var fault: EtcdFault
        do throws(EtcdFault) {
            let answer = try await cluster.call(EtcdMethods.transaction, request, until: limit)
            if answer.succeeded { return nil }
            if let found = answer.responses.first?.responseRange.kvs.first { return found.value == Self.done ? found.modRevision : nil }
            fault = EtcdFault(.unreachable, "The answer of a member is incomplete.")
        } catch { fault = error }
        if fault.kind == .leaseGone { cluster.forget(lease: lease) }
        fault.mayHaveEffect = true
        throw fault
    }
}
