#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// The files of one database in a folder of a test's own, laid out as the test worker expects them.
    final class Place: Sendable {
        let folder: String
        private let temporary: TemporaryDirectory?

        init() throws {
            let temporary = try TemporaryDirectory()
            self.temporary = temporary
            folder = temporary.path
        }

        /// A folder that somebody else keeps.
        init(folder: String) {
            self.folder = folder
            temporary = nil
        }

        var path: String { folder + "/data/store.sqlite" }
        var logPath: String { path + "-wal" }
        var lockPath: String { folder + "/state/lock" }
        var keyPath: String { folder + "/keys/key" }

        func keyFile(_ name: String = "key") -> KeyFileSource {
            KeyFileSource(path: "\(folder)/keys/\(name)", deadline: .seconds(60), runtime: .live)
        }

        /// A store that shares nothing with any other one, as in a new process.
        /// - Parameter lockPath: The lock file, where not the one of the other stores.
        func store(
            lockPath: String? = nil, source: (any KeySource)? = nil, keys: SealingKeys? = nil, deadline: Duration = .seconds(60),
            runtime: Runtime = .live,
            otherSealedIDs: @escaping @Sendable () async throws(BackendError) -> Set<[UInt8]> = { () throws(BackendError) in [] }
        ) -> SQLiteStore {
            SQLiteStore(
                path: path, lockPath: lockPath ?? self.lockPath, context: .test,
                keys: keys ?? SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
                source: source ?? keyFile(), otherSealedIDs: otherSealedIDs, deadline: deadline, runtime: runtime)
        }

        /// Starts the test worker on this database.
        /// - Parameter prefix: A program with its arguments that starts the worker, such as `strace`.
        func probe(_ command: String, _ arguments: [String] = [], under prefix: [String] = []) throws -> RunningProgram {
            let words = prefix + (try Program.worker("database", [command, folder] + arguments))
            return try RunningProgram(words[0], Array(words.dropFirst()))
        }

        /// Every folder and file with the digest of what it holds, looked at from another process. The index that SQLite's processes share is left out, and an
        /// empty log: reading makes them.
        func contents() async throws -> [String] {
            let script =
                "cd \"$0\" && find . \\( -name '*-shm' -o -name '*-wal' -empty \\) -o -type f -exec sha256sum {} + -o -printf '%y %p\\n' | sort"
            let result = try await run("sh", ["-c", script, folder])
            guard result.status == 0 else { throw ProgramFailure(result.stderr) }
            return result.stdout.split(separator: "\n").map(String.init)
        }

        var exists: Bool { FileManager.default.fileExists(atPath: path) }

        /// The log's length in bytes; 0 where there is none.
        var logLength: Int { (try? FileManager.default.attributesOfItem(atPath: logPath)[.size] as? Int) ?? 0 }

        /// Asks SQLite's own tool and the independent reader whether the database is whole. Nobody may have it open.
        /// - Returns: How many rows the reader found.
        @discardableResult
        func check(_ comment: String = "", at location: SourceLocation = #_sourceLocation) async throws -> Int {
            let script = """
                import json, sqlite3, subprocess, sys
                answer = sqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchall()
                assert answer == [("ok",)], answer
                dump = subprocess.run([sys.executable, sys.argv[3], "dump", sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE)
                assert dump.returncode == 0, dump.returncode
                print(len(json.loads(dump.stdout)["records"]))
                """
            let result = try await run("/usr/bin/python3", ["-c", script, path, keyPath, fixture("reader.py")])
            #expect(result.status == 0, "\(comment): \(result.stderr)", sourceLocation: location)
            return Int(result.stdout.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
        }
    }

    extension StoreContext {
        /// Where the databases of these tests belong.
        static let test = StoreContext(application: "test", kind: "sqlite", scope: "store")
    }

    /// A file of `Tests/Fixtures/sealed-sqlite`.
    func fixture(_ name: String) -> String { testsFolder.appending(path: "Fixtures/sealed-sqlite/\(name)").path }

    extension StorageMutation {
        static func text(_ text: String, at name: String, if condition: Precondition = .none) -> StorageMutation {
            .put(.bytes(Array(text.utf8)), at: StorageAddress(name), if: condition)
        }
    }

    extension StorageProbe {
        /// The text that the slot holds.
        var text: String? {
            if case .bytes(let bytes)? = record?.payload { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }

    extension SQLiteStore {
        func text(_ name: String) async throws(BackendError) -> String? { try await read(StorageAddress(name)).text }

        /// Stores a text, and expects that it is stored.
        func put(_ text: String, at name: String, from location: SourceLocation = #_sourceLocation) async throws {
            let result = try await apply(.text(text, at: name))
            #expect(result.isApplied, "\(result)", sourceLocation: location)
        }
    }

    /// The error that some work throws.
    func failure(_ work: () async throws(BackendError) -> some Any) async -> BackendError? {
        do throws(BackendError) {
            _ = try await work()
            return nil
        } catch {
            return error
        }
    }
#endif
