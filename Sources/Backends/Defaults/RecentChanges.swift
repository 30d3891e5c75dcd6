package import BackendContract
import BackendRuntime

/// Changes that a store made, and that another program then overwrote with an older copy of the property list.
package struct OverwrittenChanges: Hashable, Sendable {
    /// The path of the property list.
    package let path: String
    /// The addresses of the values whose changes were written again.
    package let repeated: Set<StorageAddress>
    /// The addresses of the values whose changes are lost: an older copy of the list replaced the file, or the
    /// overwritten changes were older than a minute. Such changes are not written again, because a person may have
    /// restored the older copy on purpose.
    package let lost: Set<StorageAddress>
}

/// The recent changes of this store. With them, the store detects that another program has overwritten the whole list
/// with an older copy, as Foundation's `UserDefaults` does.
///
/// Such a program writes the older copy into the existing file. A value and its metadata (the entry in the reserved
/// dictionary `LocalData.metadata`) then go back to an older state. A program that uses LocalData replaces the file
/// with a new one, so its changes are never mistaken for such a rewrite. A program without LocalData that sets or
/// removes a value on purpose does not change the value's metadata.
struct RecentChanges: Sendable {
    /// A file, and a hold that keeps other files from getting its inode number.
    struct File: Sendable {
        let status: FileStatus
        let hold: any FileHold
    }

    private struct Change {
        /// The slot (the location of the value) after the change. Nil if the slot was deleted without a tombstone, the
        /// record of a removal.
        var slot: PropertyListSlot?
        /// The earlier revisions (identifiers of states) of the slot, oldest first. An element is nil if the slot was
        /// empty.
        var earlier: [StorageRevision?]
        var at: MonotonicInstant
    }

    private var changes: [StorageAddress: Change] = [:]
    /// The file in which the changes were last found or written.
    private var file: File?
    /// The changes that must be written again.
    private(set) var overwritten: Set<StorageAddress> = []
    /// The changes that were undone when an older copy of the list replaced the file. They are kept here until they
    /// are reported.
    private var replaced: Set<StorageAddress> = []

    /// The maximum age of a change that is written again. Foundation rewrites a list within milliseconds after it has
    /// read it.
    /// Reason: "An overwritten change is written again for one minute" in Docs/Decisions/Files.md.
    static let patience = Duration.seconds(60)
    /// The maximum number of values whose changes are remembered, and the maximum number of earlier revisions of each
    /// value.
    static let (maximumCount, maximumEarlier) = (4_096, 8)

    /// Remembers a change of a slot.
    mutating func note(_ address: StorageAddress, from old: PropertyListSlot?, to new: PropertyListSlot?, at instant: MonotonicInstant) {
        guard old !== new else { return }
        let earlier = (changes[address]?.earlier ?? []) + [old?.probe.revision]
        changes[address] = Change(slot: new, earlier: earlier.suffix(Self.maximumEarlier), at: instant)
        overwritten.remove(address)
    }

    /// Remembers the file that was written; nil if the path led to another file afterwards. Drops old changes if there
    /// are too many.
    mutating func note(_ file: File?, at instant: MonotonicInstant) {
        self.file = file
        guard changes.count > Self.maximumCount else { return }
        changes = changes.filter { instant < $0.value.at.advanced(by: Self.patience) }
        guard changes.count > Self.maximumCount else { return }
        let times = changes.values.map(\.at).sorted(by: >)
        let oldest = times[Self.maximumCount / 2]
        // Changes of one commit have the same time. Only some of the oldest may be kept.
        var rest = times[..<(Self.maximumCount / 2)].count { $0 == oldest }
        changes = changes.filter { change in
            if change.value.at == oldest { rest -= 1 }
            return change.value.at > oldest || change.value.at == oldest && rest >= 0
        }
    }

    /// Finds the remembered changes that a newly read list does not contain.
    mutating func compare(with snapshot: PropertyListSnapshot) {
        guard case .document(let document) = snapshot.content, !changes.isEmpty else { return }
        let found = snapshot.status.flatMap { status in snapshot.hold.map { File(status: status, hold: $0) } }
        let isRewritten = if let file, let found { found.status.isSameFile(as: file.status) } else { false }
        file = found
        for (address, change) in changes {
            let slot = document.find(address).slot
            let revision = slot?.probe.revision
            if revision == change.slot?.probe.revision, !document.removedByOthers.contains(address) { continue }
            // Reason: "Changes that Foundation overwrites are written again" in Docs/Decisions/Files.md.
            if isRewritten, !document.removedByOthers.contains(address), change.earlier.contains(where: { $0 == revision }) {
                overwritten.insert(address)
            } else {
                // A change by LocalData never repeats a revision. So if the list contains an earlier revision, an older
                // copy of the list was probably restored.
                if let revision, !document.removedByOthers.contains(address), change.earlier.contains(revision) { replaced.insert(address) }
                forget(address)
            }
        }
    }

    /// Returns the changes that an older copy has undone since the last call.
    mutating func takeReplaced() -> Set<StorageAddress> {
        defer { replaced = [] }
        return replaced
    }

    private mutating func forget(_ address: StorageAddress) {
        changes[address] = nil
        overwritten.remove(address)
    }

    /// Returns the overwritten changes: those that must be written again, and those that are too old for that.
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

    /// Notes that changes were written again.
    mutating func settle(_ addresses: Set<StorageAddress>, at instant: MonotonicInstant) {
        overwritten.subtract(addresses)
        for address in addresses { changes[address]?.at = instant }
    }
}

extension PropertyListFile {
    /// Writes changes again that another program has overwritten with an older copy of the list.
    /// - Returns: The addresses of the changes.
    func repeatOverwritten(in document: inout PropertyListDocument) -> Set<StorageAddress> {
        let (again, lost) = withRecentChanges { $0.takeOverwritten(at: clock.now) }
        for (address, slot) in again {
            if let slot { document.replace(slot) } else { _ = document.remove([address]) }
        }
        if !lost.isEmpty { report(OverwrittenChanges(path: path, repeated: [], lost: lost)) }
        return Set(again.keys)
    }

    /// Remembers the changes of a commit, and reports the changes that the commit wrote again.
    /// - Parameters:
    ///   - repeated: The addresses of the changes that were written again.
    ///   - file: The file that was written; nil if the path led to another file afterwards.
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
