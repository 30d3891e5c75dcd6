#if Keyring && os(Linux)
    package import BackendContract
    import BackendRuntime

    /// Reports changes in the keyring.
    extension SecretServiceStore: ObservableBackend {
        /// Returns a stream with an element whenever any slot (location of one value) may have been changed, by another
        /// program or by this store. The elements are always nil, which means any slot: a deleted item has no
        /// attributes that could identify its slot.
        ///
        /// The first element comes when the watch begins. While the keyring is locked, no elements come. An element
        /// comes when the keyring is unlocked. The stream ends if the keyring cannot be reached when the watch begins.
        /// If the bus ends later, the watch continues after the next call that reaches a bus.
        ///
        /// The daemon's signals report changes. If the daemon's folder is known, the file of the default collection
        /// is watched too: gnome-keyring sends no signal when an item gets another secret.
        package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
            let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .bufferingNewest(1))
            // All signals are equal, so a buffer of one is enough.
            let (signals, signalContinuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let watch = connection.watch
            let number = watch.add { signalContinuation.yield() }
            runtime.feed(continuation, whenReleased: { watch.remove(number) }) { [self] in
                guard let file = await beginWatching() else { return }
                // Reason: "Changes are noticed by signals and by the file" in Docs/Decisions/Keyring.md.
                async let relayed: Void = relay(changesOf: file) { signalContinuation.yield() }
                for await _ in signals where await status() == .ready { continuation.yield(nil) }
                await relayed
            }
            return stream
        }

        /// Begins to watch the keyring. Notifies the listeners once, because the keyring may have changed after the
        /// caller's last read.
        /// - Returns: The file name of the default collection; nil if the keyring cannot be reached.
        private func beginWatching() async -> String? {
            try? await onLane { [connection, directory] call throws(BackendError) in
                do throws(KeyringFault) { try connection.listen(call) } catch { throw error.backendError() }
                return directory.defaultFile
            }
        }

        private func relay(changesOf file: String, _ announce: @Sendable () -> Void) async {
            guard let path = directory.path else { return }
            for await _ in runtime.files.changes(of: [file], in: path) { announce() }
        }
    }
#endif
