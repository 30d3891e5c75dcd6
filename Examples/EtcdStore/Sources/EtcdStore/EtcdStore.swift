public import BackendContract
import Foundation
import SwiftProtobuf

/// A store in an etcd cluster, which many machines can share.
///
/// Each slot (the location of one value) is one key of etcd, whose value is a record in record format 1 (`RecordCodec`). A majority of the
/// members has a change on disk when it is acknowledged. Every read is linearizable, so that a majority also confirms an absent slot.
///
/// ```swift
/// configuration.useBackend(for: .init("etcd")) { scope in EtcdStore(cluster, context: scope) }
/// ```
public final class EtcdStore: StorageBackend {
    /// The identity of the store: the addresses of the members, the prefix and the context.
    public let identity: BackendIdentity

    /// The capabilities that the store guarantees. The conformance tests check them.
    public let capabilities: BackendCapabilities

    /// The connections to the cluster.
    public let cluster: EtcdCluster

    /// The name of the store within the cluster.
    public let context: String

    let keys: SlotKeys

    /// The size of the largest value in bytes, including its metadata. With its keys, such a value fits into the largest request that the
    /// members accept by default.
    public static let maximumValueSize = 1_500_000

    /// Creates a store. Opens no connection.
    /// - Parameters:
    ///   - cluster: The connections to the cluster.
    ///   - context: The name of the store. Stores with different names share no slots.
    public init(_ cluster: EtcdCluster, context: String) {
        (self.cluster, self.context) = (cluster, context)
        keys = SlotKeys(prefix: cluster.prefix, context: context)
        let members = cluster.members.map(\.description).sorted().joined(separator: ",")
        identity = BackendIdentity(kind: "etcd", store: "\(members)/\(cluster.prefix)/\(context)")
        capabilities = BackendCapabilities(
            durability: .durable, atomicBatch: true, crossProcess: true, protection: .plain, maximumValueSize: Self.maximumValueSize,
            usefulConcurrency: 64)
    }

    // MARK: Reading

    /// Reads slots from the cluster, up to 64 in one transaction. The parameter `freshness` has no effect, because nothing is cached.
    public func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        if Task.isCancelled { throw Self.cancelled }
        var probes = addresses.map { address in Self.refusal(of: address).map(StorageProbe.unavailable) ?? StorageProbe.absent }
        let usable = addresses.indices.filter { probes[$0] == .absent }
        let deadline = cluster.nextDeadline
        do throws(EtcdFault) {
            for start in stride(from: 0, to: usable.count, by: 64) {
                let part = usable[start..<min(start + 64, usable.count)]
                let states = try await cluster.states(part.map { keys.key(addresses[$0]) }, until: deadline)
                for (index, state) in zip(part, states) { probes[index] = state.probe }
            }
        } catch {
            let problem = error.backendError()
            if problem.code == .timedOut || problem.code == .cancelled { throw problem }
            for index in usable { probes[index] = .unavailable(problem) }
        }
        return probes
    }

    /// Lists the slots of a namespace at one revision of the cluster. Keys that other programs wrote are skipped.
    public func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        let range = keys.range(of: namespace)
        let deadline = cluster.nextDeadline
        do throws(EtcdFault) {
            var addresses: [StorageAddress] = []
            var request = EtcdRangeRequest.with {
                ($0.key, $0.rangeEnd) = (range.start, range.end)
                ($0.limit, $0.keysOnly) = (1_000, true)
            }
            while true {
                do throws(EtcdFault) {
                    let answer = try await cluster.call(EtcdMethods.range, request, until: deadline)
                    addresses += answer.kvs.compactMap { keys.address($0.key) }
                    guard answer.more, let last = answer.kvs.last else { return addresses }
                    if request.revision == 0 { request.revision = answer.header.revision }
                    request.key = Self.successor(of: last.key)
                } catch {
                    // The revision was compacted during a long list. Begin with the latest one.
                    guard error.kind == .compacted else { throw error }
                    (addresses, request.key, request.revision) = ([], range.start, 0)
                }
            }
        } catch { throw error.backendError() }
    }

    /// Returns one page of a query: reads up to 64 slots in the order of their keys, and leaves out those that do not match. A page may
    /// therefore be empty.
    public func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        let range = keys.range(of: query.namespace)
        var request = EtcdRangeRequest.with {
            ($0.key, $0.rangeEnd) = (range.start, range.end)
            $0.limit = Int64(min(max(limit, 1), 64))
        }
        if let cursor {
            guard Data(cursor.bytes).starts(with: range.start) else {
                throw BackendError(.unsupported, "The cursor belongs to another store or another query. Begin with the first page.")
            }
            request.key = Self.successor(of: Data(cursor.bytes))
        }
        let answer: EtcdRangeResponse
        do throws(EtcdFault) {
            answer = try await cluster.call(EtcdMethods.range, request, until: cluster.nextDeadline)
        } catch { throw error.backendError() }
        var entries: [StoragePage.Entry] = []
        for found in answer.kvs {
            guard let address = keys.address(found.key) else { continue }
            switch SlotState(key: found.key, content: found).probe {
            case .value(let record):
                if query.matches(record.metadata) { entries.append(StoragePage.Entry(address, .record(record))) }
            case .corrupt(let corruption): entries.append(StoragePage.Entry(address, .corrupt(corruption)))
            case .unavailable(let error): throw error
            case .absent, .tombstone, .locked: continue
            }
        }
        guard answer.more, let last = answer.kvs.last else { return StoragePage(entries, next: nil) }
        return StoragePage(entries, next: StorageCursor([UInt8](last.key)))
    }

    /// Returns the smallest key that is larger than a key.
    private static func successor(of key: Data) -> Data {
        var successor = key
        successor.append(0)
        return successor
    }

    /// Asks the cluster for its latest revision. A majority has every state on disk that a read has returned.
    public func synchronize() async throws(BackendError) -> StorageDurability {
        do throws(EtcdFault) { _ = try await revision(until: cluster.nextDeadline) } catch { throw error.backendError() }
        return capabilities.durability
    }

    /// Returns whether a majority of the members can be reached.
    public func status() async -> BackendStatus {
        do throws(EtcdFault) { _ = try await revision(until: cluster.nextDeadline) } catch { return .unavailable(error.backendError()) }
        return .ready
    }

    /// Closes the connections. The next call opens them again.
    public func close() async { cluster.close() }

    /// Returns the latest revision of the cluster.
    func revision(until deadline: ContinuousClock.Instant) async throws(EtcdFault) -> Int64 {
        let request = EtcdRangeRequest.with {
            ($0.key, $0.rangeEnd) = (keys.all.start, keys.all.end)
            $0.countOnly = true
        }
        return try await cluster.call(EtcdMethods.range, request, until: deadline).header.revision
    }

    // MARK: Writing

    /// Changes slots in one transaction. A call that has begun is carried to its end even if its caller is cancelled, so that its result is
    /// known.
    /// - Throws: `tooLarge` for more changes than a transaction can have, or for changes that are together too large for a request.
    public func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        if mutations.isEmpty { return [] }
        if Task.isCancelled { throw Self.cancelled }
        guard Set(mutations.map(\.address)).count == mutations.count else {
            throw BackendError(.unsupported, "An address occurs twice in one call. Nothing was changed; make the changes in two calls.")
        }
        for (index, mutation) in mutations.enumerated() {
            if let error = refusal(of: mutation) { return mutations.indices.map { $0 == index ? .failed(error) : .notAttempted } }
        }
        let batch = try EtcdBatch(mutations, keys, cluster)
        let limit = cluster.nextDeadline
        let task = Task { @concurrent [cluster] () async -> Result<[MutationResult], EtcdFault> in
            // The rest of the time is for settling a transaction without an answer.
            let deadline = limit - cluster.patience
            do throws(EtcdFault) { return .success(try await batch.results(until: deadline, settledBy: limit)) } catch {
                return .failure(error)
            }
        }
        switch await task.value {
        case .success(let results): return results
        case .failure(let fault):
            let problem = fault.backendError(outcome: fault.mayHaveEffect ? .unknown : .notApplied)
            if problem.code == .timedOut { throw problem }
            return mutations.map { _ in .failed(problem) }
        }
    }

    private func refusal(of mutation: StorageMutation) -> BackendError? {
        if let error = Self.refusal(of: mutation.address) { return error }
        do throws(BackendError) { try capabilities.requireFit(mutation) } catch { return error }
        if case .put(.native, _) = mutation.operation {
            return BackendError(.unsupported, "This store takes bytes only, no native values. Give it a serializer's bytes.")
        }
        return nil
    }

    private static func refusal(of address: StorageAddress) -> BackendError? {
        do throws(BackendError) { try address.validate() } catch { return error }
        return nil
    }

    private static let cancelled = BackendError(.cancelled, "The caller was cancelled. Nothing was changed; try again.")
}
