#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing

    /// A program that uses a database, lets go of it, and then lies open to whoever looks into its memory.
    enum LeakCommand {
        /// Stores a value that is not there yet and reads it, or reads the one that is there; closes the store and drops it. With a control text it then stops,
        /// with that text in memory, as if at a breakpoint.
        static func run(path: String, keyFile: String, control: String?) async throws {
            try await use(path, keyFile)
            guard let control else { return }
            // Threads of the store may be about to let go of what they worked with.
            try await Task.sleep(for: .milliseconds(500))
            // What the arguments hold is not what is looked for.
            let text = Array("control-\(control)".utf8)
            fflush(nil)
            raise(SIGTRAP)
            print(text.count)
        }

        private static func use(_ path: String, _ keyFile: String) async throws {
            let store = SQLiteStore(
                path: path, lockPath: path + ".lock", keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
                source: KeyFileSource(path: keyFile, deadline: .seconds(60), runtime: .live), deadline: .seconds(60), runtime: .live)
            let address = StorageAddress("secret")
            if try await store.read(address) == .absent {
                _ = try await store.apply(.put(.bytes([1, 2, 3]), at: address))
            }
            let length = try await store.read(address).record?.payload.byteCount ?? 0
            print("read \(length)")
            await store.close()
        }
    }
#endif
