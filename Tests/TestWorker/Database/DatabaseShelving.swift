#if SQLite
    import BackendContract
    import SQLiteBackend

    extension DatabaseCommand {
        /// After a line on standard input, stores one value after the other in a separate namespace.
        /// Prints each value once it is acknowledged, until the process is killed.
        static let shelve: Run = { place, _ in
            let store = place.store()
            _ = try await store.read(StorageAddress("plain 0"))
            writeLine("ready")
            guard readLine() != nil else { return }
            for number in 0... {
                let metadata = StorageMetadata(typeTag: "note", modifiedAt: Double(number) * 40_000, attributes: ["half": "\(number / 2)"])
                let address = StorageAddress("\(number)", in: StorageNamespace("shelf"))
                let result = await outcome(store, [.put(.bytes([1]), metadata, at: address)])
                writeLine(result == "applied" ? "shelved \(number)" : result)
            }
        }
    }
#endif
