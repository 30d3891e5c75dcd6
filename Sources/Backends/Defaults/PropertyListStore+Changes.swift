package import BackendContract
import BackendRuntime

/// Reports changes by other programs as streams.
extension PropertyListStore {
    /// Returns a stream of the slots (locations of one value) that another program changed. An element is nil if any
    /// slot may have changed, for example after damage.
    ///
    /// Changes by this store are not reported, but changes by another store of this process are. The directory of the
    /// file is watched until the stream is released. The directory may also be created or replaced during that time.
    /// The stream ends if directories cannot be watched.
    package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .unbounded)
        let (number, file) = (file.addListener(continuation), file)
        file.runtime.feed(continuation, whenReleased: { file.removeListener(number) }) { await self.watch() }
        return stream
    }

    /// Reads the file after each change of the file or of its directory entry. Each read finds the changed slots and
    /// notifies the observers.
    private func watch() async {
        let file = file
        let resolving = try? await onLane(isMutation: false) { (_) throws(BackendError) in file.files.resolve(file.path) }
        guard let target = resolving else { return }
        let changes = file.files.changes(of: [lastComponent(of: target)], in: parentDirectory(of: target))
        // This read finds the changes from before the watch began. The watch reports later changes.
        await look()
        for await _ in changes { await look() }
    }

    private func look() async {
        // If the file cannot be read now, the next change or call reads it again.
        do throws(BackendError) { _ = try await load(rereading: true) } catch {}
    }
}
