package import BackendContract
import BackendRuntime

/// Noticing what other programs change, while somebody listens.
extension PropertyListStore {
    /// The slots that somebody else changed; nil stands for any slot, as after damage. What this store wrote itself is not reported, what another
    /// store of this process wrote is. The directory is created if need be, and watched until the stream is let go; where directories cannot be
    /// watched, the stream ends.
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
                    // The directory cannot be watched, or nobody listens any more.
                    continuation.finish()
                }
                group.addTask { for await _ in stop {} }
                await group.next()
                group.cancelAll()
            }
        }
        return stream
    }

    /// Looks at the file whenever its name is touched in its directory. The look itself finds out what changed, and who has to hear of it.
    private func watch() async {
        let file = file
        let target: String
        do throws(BackendError) {
            target = try await onLane(isMutation: false) { (_) throws(BackendError) in try file.prepareDirectory() }
        } catch {
            return
        }
        let changes = file.files.changes(in: parentDirectory(of: target))
        let names: Set<String> = [lastComponent(of: target)]
        // What changed before the watch was there is found by this look, what changes after it is announced.
        await look()
        for await name in changes where names.contains(name) { await look() }
    }

    private func look() async {
        // A file that cannot be read now is looked at again with the next change, or the next read.
        do throws(BackendError) { _ = try await load(rereading: true) } catch {}
    }
}
