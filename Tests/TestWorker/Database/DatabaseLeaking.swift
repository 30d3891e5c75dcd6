#if SQLite
    import BackendContract
    import SQLiteBackend

    /// A program that uses a database, lets go of it, and then lies open to whoever looks into its memory.
    extension DatabaseCommand {
        /// Stores a value that is not there yet and reads it, or reads the one that is there; closes the store and drops it. With a control text it then stops,
        /// with that text in memory, as if at a breakpoint.
        static let leak: Run = { place, arguments in
            weak var store: SQLiteStore?
            store = try await use(place)
            guard let control = arguments.first else { return }
            // Threads of the store may be about to let go of what they worked with.
            for _ in 0..<1_000 where store != nil { try await Task.sleep(for: .milliseconds(10)) }
            // So may the threads of the source of keys, which nothing here refers to.
            try await Task.sleep(for: .milliseconds(500))
            stopForMemoryDump(control: control)
        }

        private static func use(_ place: DatabasePlace) async throws -> SQLiteStore {
            let store = place.store()
            let address = StorageAddress("secret")
            if try await store.read(address) == .absent {
                _ = try await store.apply(.put(.bytes([1, 2, 3]), at: address))
            }
            let length = try await store.read(address).record?.payload.byteCount ?? 0
            writeLine("read \(length)")
            await store.close()
            return store
        }
    }
#endif
