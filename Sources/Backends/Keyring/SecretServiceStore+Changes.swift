#if Keyring && os(Linux)
    package import BackendContract
    import BackendRuntime

    /// Noticing what other programs change.
    extension SecretServiceStore: ObservableBackend {
        /// Reports that something in the keyring may have changed, by whomever, this store included; which slots is not known, for a deleted item
        /// has no attributes any more. It reports once when watching begins, and while the keyring is locked not before it is unlocked. If the
        /// keyring cannot be reached, the stream ends; if the bus ends later, the next call that reaches a bus watches that one.
        ///
        /// The daemon's signals tell of changes, and the file of the default collection where its folder is known: gnome-keyring sends no signal
        /// when an item gets another secret.
        package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
            let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .bufferingNewest(1))
            let (stop, stopContinuation) = AsyncStream.makeStream(of: Never.self)
            // Every signal says the same, so one that waits is enough.
            let (signals, signalContinuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let watch = connection.watch
            let number = watch.add { signalContinuation.yield() }
            continuation.onTermination = { _ in
                watch.remove(number)
                stopContinuation.finish()
            }
            runtime.tasks.spawn { [self] in
                await withTaskGroup { group in
                    group.addTask {
                        if let file = await self.beginWatching() {
                            async let relayed: Void = self.relay(changesOf: file) { signalContinuation.yield() }
                            for await _ in signals where await self.status() == .ready { continuation.yield(nil) }
                            await relayed
                        }
                        // The keyring cannot be watched, or the stream was released.
                        continuation.finish()
                    }
                    group.addTask { for await _ in stop {} }
                    await group.next()
                    group.cancelAll()
                }
            }
            return stream
        }

        /// Begins to watch, which tells once that there may have been a change: one between the caller's own read and this moment is not noticed
        /// otherwise.
        /// - Returns: The name of the default collection's file; nil where the keyring cannot be reached.
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
