#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import PostgreSQLBackend
    import Synchronization
    import TestSupport

    /// Clients of several machines read, replace and remove the same slots, while the server is killed again and again.
    package struct ServerRound: Sendable {
        /// A planted mistake, which the judge must notice.
        package enum Planted: String, CaseIterable, Sendable {
            /// Acknowledges a write without making it.
            case lost
            /// Makes a write again that was made before, as a repeat after a lost answer would.
            case twice
            /// Answers a read with an earlier content of the slot.
            case stale
            /// Puts a value back that was removed.
            case returned
        }

        package let kills: Int
        package let calls: Int
        package let unknown: Int
        package let acknowledged: Int
        /// The findings of the judge: a line for each broken rule.
        package let findings: [String]

        /// Runs the clients until the server was killed a number of times.
        /// - Parameters:
        ///   - seed: The seed of the calls and of the times of the kills.
        ///   - path: The file to write the history to; nil for a temporary one.
        package init(kills: Int, seed: UInt64, planted: Planted? = nil, history path: String? = nil) async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let load = ServerLoad(place, seed: seed, planted: planted)
            var dice = SeededGenerator(seed)
            let history = try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<ServerLoad.clients { group.addTask { try await load.run(client) } }
                for _ in 0..<kills {
                    // Each server of the round acknowledges some writes before it is killed.
                    let enough = load.history.acknowledgedWrites + Int.random(in: 20...200, using: &dice)
                    while load.history.acknowledgedWrites < enough { try await Task.sleep(for: .milliseconds(2)) }
                    try await place.server.kill()
                    try await place.server.start()
                }
                let enough = load.history.acknowledgedWrites + 200
                while load.history.acknowledgedWrites < enough { try await Task.sleep(for: .milliseconds(2)) }
                load.stop()
                try await group.waitForAll()
                return load.history
            }
            try await load.readAll()
            self.kills = kills
            (calls, unknown) = (
                [.done, .conflict, .failed, .unknown].reduce(0) { $0 + history.count($1) }, history.count(.unknown)
            )
            acknowledged = history.acknowledgedWrites
            let file = path ?? place.folder.file("history.jsonl")
            try history.write(to: file)
            let judge = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "judge.py").path
            let verdict = try await TestSupport.run("python3", ["-B", judge, file], limit: 600)
            findings = verdict.lines
            // Python exits with 1 after an error of the judge, too. Then there are no findings.
            guard verdict.status == (findings.isEmpty ? 0 : 1), calls > 0 else { throw ProgramFailure("judge.py: \(verdict.stderr)") }
        }
    }

    /// The calls of the clients, and the stores of their machines.
    struct ServerLoad: Sendable {
        static let clients = 16
        private static let keys = 12

        let history = ServerHistory()
        private let place: TestDatabase
        private let stores: [PostgreSQLStore]
        private let seed: UInt64
        private let planted: ServerRound.Planted?
        private let isOver = Shared(false)
        /// The latest value and revision that a client has removed, and an earlier content, for planted mistakes.
        private let remembered = Shared([Int: [StorageProbe]]())
        private let lastValue = Shared(0)

        init(_ place: TestDatabase, seed: UInt64, planted: ServerRound.Planted?) {
            (self.place, self.seed, self.planted) = (place, seed, planted)
            // Half of the machines give up before a killed server accepts connections again.
            stores = [30_000, 30_000, 150, 150].map { place.store(deadline: .milliseconds($0)) }
        }

        func stop() { isOver.value.withLock { $0 = true } }

        private func address(_ key: Int) -> StorageAddress { StorageAddress("key \(key)") }

        /// Makes calls until the round is over.
        func run(_ client: Int) async throws {
            let store = stores[client % stores.count]
            var dice = SeededGenerator(seed &+ UInt64(client) &* 7_919)
            while !isOver.value.withLock(\.self) {
                let key = Int.random(in: 0..<Self.keys, using: &dice)
                let hasFault = planted != nil && Int.random(in: 0..<50, using: &dice) == 0
                guard let probe = try await read(key, store, isStale: hasFault && planted == .stale) else { continue }
                guard Int.random(in: 0..<4, using: &dice) > 0 else { continue }
                let isRemoval = probe.record != nil && Int.random(in: 0..<6, using: &dice) == 0
                try await write(key, probe, isRemoval: isRemoval, store, hasFault: hasFault)
            }
        }

        /// Reads all slots after the round.
        func readAll() async throws {
            let store = place.store()
            for key in 0..<Self.keys { _ = try await read(key, store, isStale: false) }
        }

        private func read(_ key: Int, _ store: PostgreSQLStore, isStale: Bool) async throws -> StorageProbe? {
            var call = ServerHistory.Call(key: key, isWrite: false, begin: ServerHistory.now())
            var probe = (try? await store.read(address(key))) ?? .locked
            call.end = ServerHistory.now()
            switch probe {
            case .value, .tombstone, .absent: break
            case .locked, .unavailable, .corrupt:
                if case .corrupt(let corruption) = probe { throw ProgramFailure("\(corruption)") }
                call.outcome = .failed
                try history.add(call)
                return nil
            }
            if isStale, let earlier = remembered.value.withLock({ $0[key]?.first }) { probe = earlier }
            (call.after, call.value) = (probe.historyRevision, probe.historyValue)
            try history.add(call)
            return probe
        }

        private func write(
            _ key: Int, _ before: StorageProbe, isRemoval: Bool, _ store: PostgreSQLStore, hasFault: Bool
        ) async throws {
            let precondition = before.revision.map { StorageMutation.Precondition.revision($0) } ?? .absent
            let value = "\(lastValue.count())"
            let mutation: StorageMutation =
                isRemoval
                ? .tombstone(at: address(key), if: precondition) : .put(.bytes(Array(value.utf8)), at: address(key), if: precondition)
            var call = ServerHistory.Call(key: key, isWrite: true, begin: ServerHistory.now())
            (call.before, call.value) = (before.historyRevision, isRemoval ? "removed" : value)
            let result =
                hasFault && planted == .lost ? .applied(StorageRevision(Array(value.utf8)), .durable) : await store.result(of: mutation)
            call.end = ServerHistory.now()
            switch result {
            case .applied(let revision?, _):
                call.after = hexadecimalText(of: revision.bytes)
                try await plant(key, before, revision, mutation, isRemoval: isRemoval, store, hasFault: hasFault)
            case .conflict: call.outcome = .conflict
            case .failed(let error): call.outcome = error.outcome == .unknown ? .unknown : .failed
            case .applied, .notAttempted, .locked: call.outcome = .failed
            }
            try history.add(call)
        }

        private func plant(
            _ key: Int, _ before: StorageProbe, _ revision: StorageRevision, _ mutation: StorageMutation, isRemoval: Bool,
            _ store: PostgreSQLStore, hasFault: Bool
        ) async throws {
            guard let planted else { return }
            remembered.value.withLock { $0[key, default: []] = $0[key, default: []].suffix(3) + [before] }
            switch planted {
            case .twice where hasFault:
                _ = await store.result(of: StorageMutation(mutation.address, mutation.operation, if: .revision(revision)))
            case .returned where isRemoval:
                guard let payload = before.record?.payload else { return }
                _ = await store.result(of: .put(payload, at: address(key), if: .revision(revision)))
            case .lost, .stale, .twice, .returned: break
            }
        }
    }

    extension PostgreSQLStore {
        /// Applies a mutation. An error becomes a failed result.
        fileprivate func result(of mutation: StorageMutation) async -> MutationResult {
            do throws(BackendError) { return try await apply(mutation) } catch { return .failed(error) }
        }
    }
#endif
