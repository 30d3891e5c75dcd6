/// The images after a flush that failed and dropped what it should have written (Rebello et al., USENIX ATC 2020).
///
/// If a block cannot be written, the kernel reports the error once and marks the pages of the file as clean. On ext4 and
/// XFS, programs still read the new content, and the next flush succeeds without writing it. After a restart, the file
/// has its former content, although its size and its name may be the new ones. On Btrfs, programs read the former
/// content at once. If a program changes a page again, the whole page is written by the next flush.
extension CrashImages {
    /// The changes that a failed flush did not write. The other changes of the file are on the disk.
    enum Loss: String, CaseIterable, Sendable {
        /// All changes of the file, its size included.
        case everything
        /// All content. A new part of the file has zeros.
        case content
        /// All content. A new part of the file has the former content of the disk.
        case contentWithGarbage
        /// The first page of the content.
        case firstPage
        /// The last page of the content.
        case lastPage
    }

    /// Returns the images of power cuts at the failed flush and at each later event. There are two images of each
    /// moment: with all changes except the lost ones, and with only the durable changes.
    func afterFailedFlush(_ loss: Loss) -> [Image] {
        var collector = ImageCollector(record)
        var disk = FailingDisk()
        var answer = LastAnswer()
        var hasFailed = false
        for (number, event) in record.events.enumerated() {
            switch event {
            case .change(let change): disk.change(change, isDurable: change.isBeginning || record.isOfIndex(change))
            case .flush(let file): disk.flush(file)
            case .failedFlush(let file, let isReverted):
                hasFailed = true
                if isReverted {
                    disk.revert(file)
                } else {
                    disk.failFlush(file, isFolder: record.live[file]?.isFolder ?? false, loss)
                }
            case .told(let text): answer.hear(text)
            }
            guard hasFailed else { continue }
            collector.add("failed flush, event \(number): what is durable, lost \(loss)", told: answer.told, disk.durableChanges)
            collector.add("failed flush, event \(number): everything, lost \(loss)", told: answer.told, disk.visibleChanges)
        }
        return collector.images
    }
}

/// The changes of files, divided into pages, and what is known of each.
private struct FailingDisk {
    private struct Page: Hashable {
        let file: Int
        let number: Int
    }

    private enum State {
        /// Visible, and not flushed yet.
        case pending
        case durable
        /// Visible, but clean, so that a flush does not write it.
        case lost
        /// Neither on the disk nor visible.
        case gone
    }

    private var changes: [(change: DiskRecord.Change, state: State)] = []

    /// The changes that are certainly on the disk.
    var durableChanges: [DiskRecord.Change] { changes.filter { $0.state == .durable }.map(\.change) }

    /// The changes that are on the disk if the kernel has written everything that is not clean.
    var visibleChanges: [DiskRecord.Change] { changes.filter { $0.state == .durable || $0.state == .pending }.map(\.change) }

    mutating func change(_ change: DiskRecord.Change, isDurable: Bool) {
        changes += change.split().map { (change: $0, state: isDurable ? State.durable : .pending) }
    }

    /// Makes the changes of a file durable. A lost part of a page gets to the disk if another part of the page has
    /// changed since. A lost size does if the size has changed since.
    mutating func flush(_ file: Int) {
        let pending = pending(file)
        let written = Set(pending.map { page(of: changes[$0].change) })
        let lost = changes.indices.filter { changes[$0].change.flushedWith == file && changes[$0].state == .lost }
        for index in lost.filter({ written.contains(page(of: changes[$0].change)) }) { changes[index].state = .durable }
        for index in pending { changes[index].state = .durable }
    }

    mutating func failFlush(_ file: Int, isFolder: Bool, _ loss: CrashImages.Loss) {
        let pending = pending(file)
        // The names of a folder are in the journal. They get to the disk together, or not at all.
        let isWhole = isFolder || loss == .everything
        let content = pending.filter { page(of: changes[$0].change) != nil }
        let lostContent: [Int] =
            switch loss {
            case .everything, .content, .contentWithGarbage: content
            case .firstPage: Array(content.prefix(1))
            case .lastPage: Array(content.suffix(1))
            }
        for index in pending { changes[index].state = isWhole ? .lost : .durable }
        for index in lostContent { changes[index].state = .lost }
        guard loss == .contentWithGarbage, !isFolder else { return }
        for index in pending.reversed() {
            guard case .extend(_, let size) = changes[index].change.kind, size > changes[index].change.formerSize else { continue }
            let start = changes[index].change.formerSize
            let garbage = [UInt8](repeating: 0xA5, count: size - start)
            let filling = DiskRecord.Change(kind: .write(file: file, offset: start, bytes: garbage), formerSize: size)
            changes.insert(contentsOf: filling.split().map { (change: $0, state: State.durable) }, at: index + 1)
        }
    }

    /// Forgets the changes of a file that are not durable.
    mutating func revert(_ file: Int) { for index in pending(file) { changes[index].state = .gone } }

    private func pending(_ file: Int) -> [Int] {
        changes.indices.filter { changes[$0].change.flushedWith == file && changes[$0].state == .pending }
    }

    /// The page that a write changes; nil for other changes.
    private func page(of change: DiskRecord.Change) -> Page? {
        guard case .write(let file, let offset, _) = change.kind else { return nil }
        return Page(file: file, number: offset / 4_096)
    }
}
