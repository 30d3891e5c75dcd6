/// The images of the abstract persistence model of ALICE (Pillai et al., OSDI 2014) that the other models do not have.
///
/// ALICE divides each change into small steps, and each step gets to the disk alone. A write is divided into thirds or
/// into blocks of 4,096 bytes. A write at the end of a file has more steps: first the file gets its new size, and the
/// new part has zeros or the former content of the disk (garbage). A file is cut off in several steps. Of the changes
/// before the last one, any may be missing.
///
/// ALICE also divides changes of names: a rename removes both names before it sets one. Journaling file systems do not,
/// and LocalData relies on that (Docs/Design.md, "Assumptions"). So these images are made only on request.
extension CrashImages {
    /// Returns the images of ALICE's model after each change.
    /// - Parameter dividesNames: Whether renames and removals are divided, too, as on a file system without a journal.
    func alice(dividesNames: Bool = false) -> [Image] {
        var collector = ImageCollector(record)
        var changes: [DiskRecord.Change] = []
        var durable: Set<Int> = []
        var now = record.nodes
        var answer = LastAnswer()
        for (number, event) in record.events.enumerated() {
            switch event {
            case .change(let change):
                if change.isBeginning || record.isOfIndex(change) { durable.insert(changes.count) }
                let flushed = changes.indices.filter(durable.contains).map { changes[$0] }
                let torn = durable.contains(changes.count) ? [] : change.tornByBlocks + (dividesNames ? change.dividedNames(in: now) : [])
                for (what, steps) in torn {
                    collector.add("ALICE, event \(number): what is durable, and \(what)", told: answer.told, flushed + steps)
                    collector.add("ALICE, event \(number): everything before, and \(what)", told: answer.told, changes + steps)
                }
                changes.append(change)
                change.apply(to: &now)
                // A later change is on the disk, but not the content of an earlier one, of which only the size is there.
                for index in changes.indices.dropLast() where !durable.contains(index) {
                    for (what, steps) in changes[index].sizeWithoutContent {
                        let there = changes[..<index] + steps + changes[(index + 1)...]
                        collector.add("ALICE, event \(number): change \(index) has \(what)", told: answer.told, Array(there))
                    }
                }
            case .flush(let file): for index in changes.indices where changes[index].flushedWith == file { durable.insert(index) }
            case .failedFlush: break
            case .told(let text): answer.hear(text)
            }
        }
        return collector.images
    }
}

/// The answer that a caller got for an operation before a moment, if it allows only one state.
///
/// The caller may do the operation again, in the same program or in another one. Then the last answer counts. But after
/// an unknown outcome, `notApplied` no longer means that nothing was changed.
struct LastAnswer {
    /// `acknowledged`, `applied` or `notApplied`; nil if the state before the operation and the one after it are both
    /// allowed.
    private(set) var told: String?
    private var mayBeApplied = false

    /// Takes a line of the worker, or the beginning of another attempt.
    mutating func hear(_ text: String) {
        // The operation is idempotent, so a later attempt cannot undo what was acknowledged.
        if told == "acknowledged" || told == "applied" { return }
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case "begins", "lifted":
            if told != "notApplied" { mayBeApplied = true }
            told = nil
        case "told", "again":
            let word = words.count > 1 ? words[1] : ""
            if word != "notApplied", word != "acknowledged", word != "applied" { mayBeApplied = true }
            told = word == "acknowledged" || word == "applied" || (word == "notApplied" && !mayBeApplied) ? word : nil
        default: break
        }
    }
}

extension DiskRecord.Change {
    /// Steps that are on the disk instead of the change, with a description.
    typealias Torn = (what: String, steps: [DiskRecord.Change])

    private static func write(_ file: Int, _ offset: Int, _ bytes: [UInt8]) -> Self {
        Self(kind: .write(file: file, offset: offset, bytes: bytes))
    }

    /// Bytes that no program wrote.
    private static func garbage(_ count: Int) -> [UInt8] { [UInt8](repeating: 0xA5, count: count) }

    /// The states in which only a part of a change of content or size is on the disk.
    fileprivate var tornByBlocks: [Torn] {
        switch kind {
        case .write(_, _, let bytes) where bytes.count > 1: sizeWithoutContent + partsOfWrite
        case .write: sizeWithoutContent
        case .resize(let file, let size) where size < formerSize:
            // The last block is cut off, or half of all blocks.
            [(formerSize - 1) / 4_096 * 4_096, (formerSize + size) / 2].filter { $0 > size && $0 < formerSize }.map {
                ("file \(file) is cut off to \($0) bytes", [Self(kind: .resize(file: file, size: $0))])
            }
        case .resize(let file, let size), .extend(let file, let size): grown(file, to: size)
        case .mode, .names, .begin: []
        }
    }

    private func grown(_ file: Int, to size: Int) -> [Torn] {
        guard size > formerSize else { return [] }
        let half = (formerSize + size) / 2
        return [
            ("file \(file) grows by half", [Self(kind: .extend(file: file, size: half))]),
            ("file \(file) grows by garbage", [Self.write(file, formerSize, Self.garbage(size - formerSize))]),
        ]
    }

    /// The states in which a write has made the file longer, but its bytes are not there.
    fileprivate var sizeWithoutContent: [Torn] {
        guard case .write(let file, let offset, let bytes) = kind, offset + bytes.count > formerSize else { return [] }
        let end = offset + bytes.count
        return [
            ("zeros instead of its content", [Self(kind: .extend(file: file, size: end))]),
            ("garbage instead of its content", [Self.write(file, formerSize, Self.garbage(end - formerSize))]),
        ]
    }

    /// The states in which some thirds or blocks of a write are on the disk.
    private var partsOfWrite: [Torn] {
        guard case .write(let file, let offset, let bytes) = kind else { return [] }
        let end = offset + bytes.count
        let third = (bytes.count + 2) / 3
        let thirds: [Range<Int>] = stride(from: 0, to: bytes.count, by: third).map { $0..<min($0 + third, bytes.count) }
        let blocks: [Range<Int>] = Self.blocks(offset, end).map { $0.lowerBound - offset..<$0.upperBound - offset }
        var torn: [Torn] = []
        for (name, slices) in [("thirds", thirds), ("blocks", blocks)] where slices.count > 1 {
            let count = slices.count
            let withoutMiddle = (0..<count).filter { $0 != count / 2 }
            let choices: [[Int]] = [[0], Array(0..<count - 1), [count - 1], Array(1..<count), withoutMiddle]
            for chosen in choices {
                let parts = chosen.map { Self.write(file, offset + slices[$0].lowerBound, Array(bytes[slices[$0]])) }
                let what = "\(name) \(chosen) of \(count) of a write"
                // The file has the size up to the last part, and zeros before it.
                torn.append((what, parts))
                for (filling, size) in sizeWithoutContent { torn.append(("\(what), \(filling)", size + parts)) }
            }
        }
        return torn
    }

    /// The parts of a range in each block.
    private static func blocks(_ start: Int, _ end: Int) -> [Range<Int>] {
        var blocks: [Range<Int>] = []
        var position = start
        while position < end {
            let next = min(end, (position / 4_096 + 1) * 4_096)
            blocks.append(position..<next)
            position = next
        }
        return blocks
    }

    /// The states in which only a part of a change of names is on the disk.
    fileprivate func dividedNames(in nodes: [Int: DiskRecord.Node]) -> [Torn] {
        guard case .names(let cleared, let set) = kind else { return [] }
        let targets = set.map(\.entry)
        func names(_ cleared: [Entry], _ set: [(entry: Entry, file: Int)] = []) -> [Self] {
            [Self(kind: .names(cleared: cleared, set: set))]
        }
        var torn: [Torn] = []
        if !cleared.isEmpty, !set.isEmpty {
            torn.append(("the new name is gone, and the old one is there", names(targets)))
            torn.append(("both names are gone", names(cleared + targets)))
            torn.append(("both names are there", names([], set)))
        }
        // The last name of a file is removed after its content.
        for entry in set.isEmpty ? cleared : targets {
            guard let file = nodes[entry.folder]?.entries[entry.name], nodes[file]?.isFolder == false else { continue }
            let links = nodes.values.reduce(0) { $0 + $1.entries.values.count { $0 == file } }
            if links == 1 { torn.append(("the removed file is empty", [Self(kind: .resize(file: file, size: 0))])) }
        }
        return torn
    }
}
