#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import Synchronization
    import TestSupport

    /// The calls of all clients, one JSON object a line, as `judge.py` reads them.
    ///
    /// `begin` and `end` are nanoseconds of the machine's monotonic clock. `before` is the revision that the call
    /// requires, `after` the one that it returned, both in hexadecimal, or `absent`. `value` is the content of the
    /// slot, or `removed`. Two writes never have the same value.
    final class ServerHistory: Sendable {
        enum Outcome: String, Encodable {
            /// The call succeeded.
            case done
            /// The slot did not have the required revision.
            case conflict
            /// The call failed, and changed nothing.
            case failed
            /// The call failed, and may have changed the slot.
            case unknown
        }

        struct Call: Encodable {
            let key: Int
            let isWrite: Bool
            let begin: UInt64
            var end: UInt64 = 0
            var before: String?
            var after: String?
            var value: String?
            var outcome = Outcome.done
        }

        private struct State {
            var lines: [Data] = []
            var counts: [Outcome: Int] = [:]
            var acknowledgedWrites = 0
        }

        private let state = Mutex(State())

        static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

        /// Adds a call that has ended.
        func add(_ call: Call) throws {
            let line = try JSONEncoder().encode(call)
            state.withLock { state in
                state.lines.append(line)
                state.counts[call.outcome, default: 0] += 1
                if call.isWrite, call.outcome == .done { state.acknowledgedWrites += 1 }
            }
        }

        /// The number of writes that were acknowledged.
        var acknowledgedWrites: Int { state.withLock(\.acknowledgedWrites) }

        /// The number of calls with an outcome.
        func count(_ outcome: Outcome) -> Int { state.withLock { $0.counts[outcome, default: 0] } }

        func write(to path: String) throws {
            try state.withLock { Data($0.lines.joined(separator: Data("\n".utf8))) }.write(to: URL(filePath: path))
        }
    }

    extension StorageProbe {
        /// The revision as a history has it.
        var historyRevision: String { revision.map { hexadecimalText(of: $0.bytes) } ?? "absent" }

        /// The content as a history has it; nil for an empty slot.
        var historyValue: String? {
            switch self {
            case .value(let record): if case .bytes(let bytes) = record.payload { String(decoding: bytes, as: UTF8.self) } else { nil }
            case .tombstone: "removed"
            default: nil
            }
        }
    }
#endif
