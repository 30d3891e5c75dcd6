#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Foundation
    import SQLiteBackend
    import Synchronization
    import TestSupport
    import Testing

    /// Tests of a process that is killed between writing a transaction to the log and adding it to the log's index.
    /// The next recovery would replay the transaction, although other processes got answers without it.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct UnnamedTransactionTests {
        /// A call of another process whose answer does not include the transaction of the killed process.
        enum Answer: CaseIterable {
            case removal, check, refusal, flush, change, read, list

            func give(_ store: SQLiteStore) async throws {
                switch self {
                case .removal: #expect(try await store.apply(.delete(StorageAddress("b 0"))).isApplied)
                case .check: #expect(try await store.apply([.check(StorageAddress("b 0"), if: .absent)])[0].isApplied)
                case .refusal: #expect(try await !store.apply(.text("3", at: "a", if: .absent)).isApplied)
                case .flush: #expect(try await store.synchronize() == .durable)
                case .change: try await store.put("2", at: "a")
                case .read: #expect(try await store.text("b 0") == nil)
                case .list: #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
                }
            }
        }

        /// Reads a copy of the database and its log without the index, as after a restart of the machine.
        private func atNextStart(_ place: Place) async throws -> (killed: String?, other: String?) {
            let copy = try Place()
            let files = FileManager.default
            for folder in ["data", "keys", "state"] {
                try files.copyItem(atPath: "\(place.folder)/\(folder)", toPath: "\(copy.folder)/\(folder)")
            }
            try files.removeItem(atPath: copy.path + "-shm")
            let store = copy.store()
            let found = (try await store.text("b 0"), try await store.text("a"))
            await store.close()
            return found
        }

        private func digests(_ place: Place) throws -> [Data] {
            try [place.path, place.logPath].map { try Data(contentsOf: URL(filePath: $0)) }
        }

        /// Starts a process that stores a value, and kills it after it has written the transaction to the log.
        private func leaveTransaction(_ place: Place) async throws {
            let probe = try place.probe(
                "puts", ["b", "1", "5000"],
                under: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=KILL:when=1"])
            #expect(await probe.end().lines == [])
            #expect(try await atNextStart(place).killed != nil, "the kill left no transaction in the log, so the test is void")
        }

        /// Expects that a store does not say whether the value of the killed process exists, and reads another value.
        private func expectUnknown(
            _ store: SQLiteStore, _ code: BackendError.Code, at location: SourceLocation = #_sourceLocation
        ) async throws {
            let read: BackendError?
            do throws(BackendError) { read = try await store.read(StorageAddress("b 0")).error } catch { read = error }
            #expect(read?.code == code, sourceLocation: location)
            let list = await failure { () throws(BackendError) in try await store.addresses(in: .values) }
            #expect(list?.code == code, sourceLocation: location)
            #expect(try await store.text("a") == "1", sourceLocation: location)
        }

        /// Expects that the value of the killed process is absent, now and after a restart.
        private func expectAbsent(_ store: SQLiteStore, _ place: Place, at location: SourceLocation = #_sourceLocation) async throws {
            #expect(try await store.text("b 0") == nil, sourceLocation: location)
            #expect(try await store.addresses(in: .values) == [StorageAddress("a")], sourceLocation: location)
            #expect(try await atNextStart(place).killed == nil, sourceLocation: location)
        }

        @Test(arguments: Answer.allCases)
        func `a transaction that a killed process left in the log does not come back after another process got an answer`(
            _ answer: Answer
        ) async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("1", at: "a")
            try await leaveTransaction(place)

            try await answer.give(store)
            let next = try await atNextStart(place)
            #expect(next.killed == nil)
            #expect(next.other == (answer == .change ? "2" : "1"))

            // After the first answer the log is settled. A further answer that changes nothing writes nothing.
            let before = try digests(place)
            if answer != .change { try await answer.give(store) }
            #expect(try digests(place) == before)
            await store.close()
            try await place.check()
        }

        @Test(.timeLimit(.minutes(5)))
        func `a read without a result times out while another process holds the lock until the deadline`() async throws {
            let place = try Place()
            let (clock, isHeld) = (ManualClock(), Shared(false))
            let files = HookedFiles { operation, _ in
                // The deadline passes while the store waits for the lock.
                if operation == "lock", isHeld.value.withLock(\.self) { clock.advance(by: .seconds(61)) }
            }
            let store = place.store(deadline: .seconds(60), runtime: .live(files: files, clock: clock))
            try await store.put("1", at: "a")
            try await leaveTransaction(place)
            let holder = try place.probe("hold-lock")
            #expect(try await holder.line() == "holding lock")
            isHeld.value.withLock { $0 = true }
            try await expectUnknown(store, .timedOut)
            isHeld.value.withLock { $0 = false }
            #expect(try await holder.ask("go on") == "released lock")
            try await expectAbsent(store, place)
            await store.close()
            try await place.check()
        }

        @Test(.timeLimit(.minutes(5)))
        func `the absence of a value is unknown while the database can be opened only for reading`() async throws {
            try #require(ReadOnlyFile.isInstalled)
            let place = try Place()
            // Another connection keeps the index of the log, so that SQLite does not recover the log.
            let writer = place.store()
            try await writer.put("1", at: "a")
            try await leaveTransaction(place)
            ReadOnlyFile.path.withLock { $0 = PosixFileSystem().resolve(place.path) }
            defer { ReadOnlyFile.path.withLock { $0 = nil } }
            let store = place.store()
            try await expectUnknown(store, BackendError.Code("cannotTell"))
            #expect(try await !store.apply(.text("2", at: "a")).isApplied)
            ReadOnlyFile.path.withLock { $0 = nil }
            try await expectAbsent(store, place)
            await store.close()
            await writer.close()
            try await place.check()
        }
    }

    /// Replaces the function with which SQLite opens files, in the whole process. One file can then be opened only for
    /// reading, as on a disk that is mounted for reading only. Permissions do not prevent root from writing.
    private enum ReadOnlyFile {
        private typealias Open = @convention(c) (UnsafePointer<CChar>?, Int32, Int32) -> Int32

        /// The path of the file; nil for none.
        static let path = Mutex<String?>(nil)
        private static let original = Atomic<UInt>(0)

        static let isInstalled: Bool = {
            guard let system = sqlite3_vfs_find(nil), let get = system.pointee.xGetSystemCall, let set = system.pointee.xSetSystemCall,
                let present = get(system, "open")
            else { return false }
            original.store(unsafeBitCast(present, to: UInt.self), ordering: .releasing)
            return set(system, "open", unsafeBitCast(replacement, to: sqlite3_syscall_ptr.self)) == SQLITE_OK
        }()

        private static let replacement: Open = { name, flags, mode in
            if flags & O_ACCMODE != O_RDONLY, let name, let path = ReadOnlyFile.path.withLock(\.self), String(cString: name) == path {
                errno = EROFS
                return -1
            }
            let original = unsafeBitCast(ReadOnlyFile.original.load(ordering: .acquiring), to: Open?.self)
            return original?(name, flags, mode) ?? -1
        }
    }
#endif
