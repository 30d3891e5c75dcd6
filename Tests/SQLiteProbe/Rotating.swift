#if SQLite
    import BackendContract
    import SQLiteBackend

    extension ProbeCommand {
        /// Rotates the data key, with so many rows a part.
        static let rotate: Run = { place, arguments in
            let store = place.store()
            say("ready")
            guard listen() != nil else { return }
            do throws(BackendError) {
                let count = try await store.rotateDataKey(batch: Int(arguments[0]) ?? 1) { done, _ in say("done \(done)") }
                say("rotated \(count)")
            } catch {
                say("\(error)")
            }
            await store.close()
        }
    }
#endif
