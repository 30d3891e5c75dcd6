#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing

    /// The files of one database, laid out as the tests lay them out.
    struct ProbePlace: Sendable {
        let folder: String

        var path: String { folder + "/data/store.sqlite" }
        var lockPath: String { folder + "/state/lock" }

        func store(deadline: Duration = .seconds(60)) -> SQLiteStore {
            SQLiteStore(
                path: path, lockPath: lockPath, context: StoreContext(application: "test", kind: "sqlite", scope: "store"),
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
                source: KeyFileSource(path: folder + "/keys/key", deadline: deadline, runtime: .live), deadline: deadline, runtime: .live)
        }
    }

    /// Prints a line at once.
    func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    /// A line of standard input; nil at its end.
    func listen() -> String? { readLine(strippingNewline: true) }

    extension StorageMutation {
        /// A mutation that stores a text.
        static func text(_ text: String, at name: String, if condition: Precondition = .none) -> StorageMutation {
            .put(.bytes(Array(text.utf8)), at: StorageAddress(name), if: condition)
        }
    }

    extension StorageProbe {
        /// The text that the slot holds, or what it is instead.
        var text: String {
            switch self {
            case .value(let record):
                if case .bytes(let bytes) = record.payload { String(decoding: bytes, as: UTF8.self) } else { "native" }
            case .absent: "absent"
            case .tombstone: "tombstone"
            case .locked: "locked"
            case .corrupt: "corrupt"
            case .unavailable(let error): "unavailable \(error.code)"
            }
        }
    }

    extension MutationResult {
        /// The result in a word or three: `applied`, `conflict`, `failed noSpace notApplied`.
        var text: String {
            switch self {
            case .applied: "applied"
            case .conflict: "conflict"
            case .notAttempted: "notAttempted"
            case .locked: "locked"
            case .failed(let error): "failed \(error.code) \(error.outcome.rawValue)"
            }
        }
    }

    /// What became of a change, an error of the call included.
    func outcome(_ store: SQLiteStore, _ mutations: [StorageMutation]) async -> String {
        do throws(BackendError) {
            let results = try await store.apply(mutations)
            return results.first { !$0.isApplied }?.text ?? "applied"
        } catch {
            return "failed \(error.code) \(error.outcome.rawValue)"
        }
    }
#endif
