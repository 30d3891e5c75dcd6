package import BackendContract
import BackendRuntime

/// Changes that another program has overwritten with an older copy of the list.
package struct OverwrittenChanges: Hashable, Sendable {
    /// The property list.
    package let path: String
    /// The values whose changes were made again.
    package let repeated: Set<StorageAddress>
    /// The values whose changes are lost: an older copy of the list took the place of the file, or overwrote changes that are older than a minute. A person
    /// may have put that copy there on purpose.
    package let lost: Set<StorageAddress>
}

/// What this store has written of late, to notice a program that writes an older copy of the whole list, as Foundation's `UserDefaults` does.
///
/// Such a program rewrites the file in place, and with it both the value and its entry in the reserved dictionary go back to what they were. Programs
/// that use LocalData replace the file by another one, so that what they change is never taken for it. A program that sets or removes a value on
/// purpose leaves the value's entry as it is.
struct RecentChanges: Sendable {
    /// A file, and a hold on it, so that no other file gets its number.
    struct File: Sendable {
        let status: FileStatus
        let hold: any FileHold
    }

    private struct Change {
        /// What was written; nil for a removal without a trace.
        var slot: PropertyListSlot?
        /// What was there before, as revisions; nil where there was nothing.
        var earlier: [StorageRevision?]
        var at: MonotonicInstant
    }

    private var changes: [StorageAddress: Change] = [:]
    /// The file in which the changes were last seen or written.
    private var file: File?
    /// The changes that have to be made again.
    private(set) var overwritten: Set<StorageAddress> = []
    /// The changes that an older copy in another file has replaced, until they are reported.
    private var replaced: Set<StorageAddress> = []

    /// For how long a change is made again. Foundation reads and rewrites within milliseconds.
    static let patience = Duration.seconds(60)
    /// How many values are remembered, and how many earlier states of each.
    static let (maximumCount, maximumEarlier) = (4_096, 8)

    /// Notes what was written.
    mutating func note(_ address: StorageAddress, from old: PropertyListSlot?, to new: PropertyListSlot?, at instant: MonotonicInstant) {
        guard old !== new else { return }
        let earlier = (changes[address]?.earlier ?? []) + [old?.probe.revision]
        changes[address] = Change(slot: new, earlier: earlier.suffix(Self.maximumEarlier), at: instant)
        overwritten.remove(address)
    }

    /// Notes the file that was written; nil where it has lost its name by now.
    mutating func note(_ file: File?, at instant: MonotonicInstant) {
        self.file = file
        guard changes.count > Self.maximumCount else { return }
        changes = changes.filter { instant < $0.value.at.advanced(by: Self.patience) }
        guard changes.count > Self.maximumCount else { return }
        let kept = changes.sorted { $0.value.at > $1.value.at }.prefix(Self.maximumCount / 2)
        changes = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// Finds the changes that are gone from a list that was read.
    mutating func compare(with snapshot: PropertyListSnapshot) {
        guard case .document(let document) = snapshot.content, !changes.isEmpty else { return }
        let found = snapshot.status.flatMap { status in snapshot.hold.map { File(status: status, hold: $0) } }
        let isRewritten = if let file, let found { found.status.isSameFile(as: file.status) } else { false }
        file = found
        for (address, change) in changes {
            let slot = document.find(address).slot
            let revision = slot?.probe.revision
            if revision == change.slot?.probe.revision, !document.removedByOthers.contains(address) { continue }
            if isRewritten, !document.removedByOthers.contains(address), change.earlier.contains(where: { $0 == revision }) {
                overwritten.insert(address)
            } else {
                // No program writes a revision twice: an earlier one is there because a copy of it was put back.
                if let revision, !document.removedByOthers.contains(address), change.earlier.contains(revision) { replaced.insert(address) }
                forget(address)
            }
        }
    }

    /// The changes that an older copy has replaced since the last call.
    mutating func takeReplaced() -> Set<StorageAddress> {
        defer { replaced = [] }
        return replaced
    }

    private mutating func forget(_ address: StorageAddress) {
        changes[address] = nil
        overwritten.remove(address)
    }

    /// The changes that have to be made again, and those that are too old for it.
    mutating func takeOverwritten(at instant: MonotonicInstant) -> (again: [StorageAddress: PropertyListSlot?], lost: Set<StorageAddress>) {
        var again: [StorageAddress: PropertyListSlot?] = [:]
        var lost: Set<StorageAddress> = []
        for address in overwritten {
            guard let change = changes[address] else { continue }
            if instant < change.at.advanced(by: Self.patience) {
                again.updateValue(change.slot, forKey: address)
            } else {
                lost.insert(address)
                forget(address)
            }
        }
        return (again, lost)
    }

    /// Notes that changes were made again.
    mutating func settle(_ addresses: Set<StorageAddress>, at instant: MonotonicInstant) {
        overwritten.subtract(addresses)
        for address in addresses { changes[address]?.at = instant }
    }
}

extension PropertyListFile {
    /// Makes changes again that another program has overwritten with an older copy of the list.
    /// - Returns: The values.
    func repeatOverwritten(in document: inout PropertyListDocument) -> Set<StorageAddress> {
        let (again, lost) = withRecentChanges { $0.takeOverwritten(at: clock.now) }
        for (address, slot) in again {
            if let slot { document.replace(slot) } else { _ = document.remove(address) }
        }
        if !lost.isEmpty { report(OverwrittenChanges(path: path, repeated: [], lost: lost)) }
        return Set(again.keys)
    }

    /// Remembers what a commit has written.
    /// - Parameters:
    ///   - repeated: What was written again.
    ///   - file: The file that was written.
    func note(
        _ calls: [[StorageMutation]], from snapshot: PropertyListSnapshot, to document: PropertyListDocument,
        _ repeated: Set<StorageAddress>, _ file: RecentChanges.File?
    ) {
        guard !isPrivate, case .document(let old) = snapshot.content else { return }
        let now = clock.now
        withRecentChanges { recent in
            recent.settle(repeated, at: now)
            for call in calls {
                for mutation in call {
                    let address = mutation.address
                    recent.note(address, from: old.find(address).slot, to: document.find(address).slot, at: now)
                }
            }
            recent.note(file, at: now)
        }
        if !repeated.isEmpty { report(OverwrittenChanges(path: path, repeated: repeated, lost: [])) }
    }
}
