package import BackendContract
import BackendRuntime

/// Reports the changes of other programs while a stream is observed.
extension PropertyListStore {
    /// The slots that another program changed; nil means any slot, as after damage. Changes by this store are not reported, changes by another
    /// store of this process are. The directory is watched until the stream is released, also one that appears or is replaced meanwhile. If
    /// directories cannot be watched, the stream ends.
    package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .unbounded)
        let (stop, stopContinuation) = AsyncStream.makeStream(of: Never.self)
        let number = file.addListener(continuation)
        let file = file
        continuation.onTermination = { _ in
            file.removeListener(number)
            stopContinuation.finish()
        }
        file.runtime.tasks.spawn {
            await withTaskGroup { group in
                group.addTask {
                    await self.watch()
                    // The directory cannot be watched, or no observer is left.
                    continuation.finish()
                }
                group.addTask { for await _ in stop {} }
                await group.next()
                group.cancelAll()
            }
        }
        return stream
    }

    /// Reads the file whenever its name is changed in its directory. Reading finds the changes and notifies the observers.
    private func watch() async {
        let file = file
        let target: String
        do throws(BackendError) {
            target = try await onLane(isMutation: false) { (_) throws(BackendError) in file.files.resolve(file.path) }
        } catch {
            return
        }
        let changes = file.files.changes(of: [lastComponent(of: target)], in: parentDirectory(of: target))
        // This read finds changes from before the watch began; later ones are reported by the watch.
        await look()
        for await _ in changes { await look() }
    }

    private func look() async {
        // A file that cannot be read now is read again at the next change or the next call.
        do throws(BackendError) { _ = try await load(rereading: true) } catch {}
    }
}
