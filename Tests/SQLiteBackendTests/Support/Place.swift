#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// The files of one database in a temporary folder, in the layout that the test worker expects.
    final class Place: Sendable {
        let folder: String
        private let temporary: TemporaryDirectory?

        init() throws {
            let temporary = try TemporaryDirectory()
            self.temporary = temporary
            folder = temporary.path
        }

        /// Uses a folder that the caller creates and removes.
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

        /// Makes a store that shares nothing with other stores, as in a new process.
        /// - Parameter lockPath: The lock file, if it is not the one of the other stores.
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

        /// Returns every folder and file with the digest of its content. Another process computes the digests.
        /// SQLite's shared index and an empty log are left out, because reading creates them.
        func contents() async throws -> [String] {
            let script =
                "cd \"$0\" && find . \\( -name '*-shm' -o -name '*-wal' -empty \\) -o -type f -exec sha256sum {} + -o -printf '%y %p\\n' | sort"
            let result = try await run("sh", ["-c", script, folder])
            guard result.status == 0 else { throw ProgramFailure(result.stderr) }
            return result.stdout.split(separator: "\n").map(String.init)
        }

        var exists: Bool { FileManager.default.fileExists(atPath: path) }

        /// The length of the log in bytes; 0 if there is no log.
        var logLength: Int { (try? FileManager.default.attributesOfItem(atPath: logPath)[.size] as? Int) ?? 0 }

        /// Checks the database with SQLite's integrity check and the independent reader. No process may have it open.
        /// - Returns: The number of rows that the reader found.
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
        /// The context of the databases in these tests.
        static let test = StoreContext(application: "test", kind: "sqlite", scope: "store")
    }

    /// Returns the path of a file in `Tests/Fixtures/sealed-sqlite`.
    func fixture(_ name: String) -> String { testsFolder.appending(path: "Fixtures/sealed-sqlite/\(name)").path }

    extension StorageMutation {
        static func text(_ text: String, at name: String, if condition: Precondition = .none) -> StorageMutation {
            .put(.bytes(Array(text.utf8)), at: StorageAddress(name), if: condition)
        }
    }

    extension StorageProbe {
        /// The text in the slot, if the slot has bytes.
        var text: String? {
            if case .bytes(let bytes)? = record?.payload { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }

    extension SQLiteStore {
        func text(_ name: String) async throws(BackendError) -> String? { try await read(StorageAddress(name)).text }

        /// Stores a text, and expects that it is applied.
        func put(_ text: String, at name: String, from location: SourceLocation = #_sourceLocation) async throws {
            let result = try await apply(.text(text, at: name))
            #expect(result.isApplied, "\(result)", sourceLocation: location)
        }
    }

    /// Returns the error that some work throws, or `nil`.
    func failure(_ work: () async throws(BackendError) -> some Any) async -> BackendError? {
        do throws(BackendError) {
            _ = try await work()
            return nil
        } catch {
            return error
        }
    }
#endif
