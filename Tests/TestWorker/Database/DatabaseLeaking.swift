#if SQLite
    import BackendContract
    import SQLiteBackend

    /// A command that uses a database and releases it, so that a test can search the memory of the process for secrets.
    extension DatabaseCommand {
        /// Reads a value, and stores it first if it is absent. Closes and releases the store.
        /// With a control text the process then stops with that text in memory, so that a debugger can save the memory.
        static let leak: Run = { place, arguments in
            weak var store: SQLiteStore?
            store = try await use(place)
            guard let control = arguments.first else { return }
            // Threads of the store may hold references for a moment longer.
            for _ in 0..<12_000 where store != nil { try await Task.sleep(for: .milliseconds(10)) }
            // The threads of the key source may hold references too.
            try await waitUntilThreadsSleep()
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
