#if SQLite
    import BackendContract
    import SQLiteBackend

    extension DatabaseCommand {
        /// Rotates the data key, with the given number of rows in each batch. Starts after a line on standard input.
        static let rotate: Run = { place, arguments in
            let store = place.store()
            writeLine("ready")
            guard readLine() != nil else { return }
            do throws(BackendError) {
                let count = try await store.rotateDataKey(batch: Int(arguments[0]) ?? 1) { done, _ in writeLine("done \(done)") }
                writeLine("rotated \(count)")
            } catch {
                writeLine("\(error)")
            }
            await store.close()
        }
    }
#endif
