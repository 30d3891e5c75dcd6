import Foundation
import TestSupport

/// The changes that a run made on the disk, in order, with the answers that the program got in between.
struct DiskRecord: Sendable {
    /// A file or folder. All names of a file share one node.
    struct Node: Sendable, Hashable {
        var isFolder: Bool
        var mode: UInt16
        var bytes: [UInt8] = []
        /// The names in a folder, each with the number of its node.
        var entries: [String: Int] = [:]
    }

    /// A change of one file's content, or of names.
    struct Change: Sendable {
        enum Kind: Sendable {
            case write(file: Int, offset: Int, bytes: [UInt8])
            case resize(file: Int, size: Int)
            case extend(file: Int, size: Int)
            case mode(file: Int, mode: UInt16)
            /// Names that are removed and set in one step.
            case names(cleared: [Entry], set: [(entry: Entry, file: Int)])
            /// Creates a file or folder. It has no name until one is set.
            case begin(file: Int, Node)
        }

        struct Entry: Sendable, Hashable {
            let folder: Int
            let name: String
        }

        let kind: Kind
        /// The size of the file before the change, if the change affects content or size.
        var formerSize = 0

        /// The file whose flush makes the change durable; for names, the folder.
        var flushedWith: Int? {
            switch kind {
            case .write(let file, _, _), .resize(let file, _), .extend(let file, _), .mode(let file, _): file
            case .names(let cleared, let set): set.first?.entry.folder ?? cleared.first?.folder
            case .begin: nil
            }
        }

        /// Whether the change affects only bytes, neither sizes nor names.
        var isContent: Bool { if case .write = kind { true } else { false } }

        /// Whether the change only creates a file or folder that has no name yet.
        var isBeginning: Bool { if case .begin = kind { true } else { false } }
    }

    enum Event: Sendable {
        case change(Change)
        /// All changes of a file, or of the names of a folder, become durable.
        case flush(Int)
        /// A flush failed. The changes that it should have made durable never get to the disk by a later flush. If
        /// `isReverted` is true, the program does not see them any more either.
        case failedFlush(Int, isReverted: Bool)
        /// The program got the answer of a call.
        case told(String)
    }

    static let root = 0
    /// The files before the first change.
    private(set) var nodes: [Int: Node] = [:]
    private(set) var events: [Event] = []

    /// The indexes of SQLite's logs (`-shm`). The first program that opens one after a restart empties it, so its content
    /// after a power cut does not matter.
    private(set) var indexes: Set<Int> = []

    private var ids: [UInt64: Int] = [:]
    private(set) var live: [Int: Node] = [:]
    private var next = 0

    /// Reads the content of a folder before the program changes it.
    init(folder: String) throws {
        try add(folder)
        live = nodes
    }

    @discardableResult
    private mutating func add(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let inode = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
        let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
        let mode = (attributes[.posixPermissions] as? NSNumber)?.uint16Value ?? 0
        let id = takeID(inode)
        var node = Node(isFolder: isFolder, mode: mode)
        if isFolder {
            for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted() {
                node.entries[name] = try add("\(path)/\(name)")
            }
        } else {
            if path.hasSuffix("-shm") { indexes.insert(id) }
            node.bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
        }
        nodes[id] = node
        return id
    }

    private mutating func takeID(_ inode: UInt64) -> Int {
        defer { next += 1 }
        ids[inode] = next
        return next
    }

    // MARK: Reading the library's log

    /// Adds the changes in the log of the shim, the preloaded library that records a program's changes (`shim.c`).
    mutating func read(_ log: String) throws {
        let bytes = [UInt8](FileManager.default.contents(atPath: log) ?? Data())
        var position = 0
        func line() -> String {
            let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            defer { position = end + 1 }
            return String(decoding: bytes[position..<end], as: UTF8.self)
        }
        while position < bytes.count {
            let words = line().split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            func text(from index: Int) -> String { words[min(index, words.count)...].joined(separator: " ") }
            func number(_ index: Int, radix: Int = 10) throws -> Int {
                guard words.count > index, let number = Int(words[index], radix: radix) else {
                    throw ProgramFailure("The log is torn: \(words)")
                }
                return number
            }
            func file() throws -> Int {
                guard let id = ids[UInt64(try number(1))] else { throw ProgramFailure("The log has a file without a beginning: \(words)") }
                return id
            }
            switch words[0] {
            case "mark": events.append(.told(text(from: 1)))
            case "write":
                let (offset, count) = (try number(2), try number(3))
                apply(.write(file: try file(), offset: offset, bytes: Array(bytes[position..<position + count])))
                position += count + 1
            case "resize": apply(.resize(file: try file(), size: try number(2)))
            case "extend": apply(.extend(file: try file(), size: try number(2)))
            case "mode": apply(.mode(file: try file(), mode: UInt16(try number(2, radix: 8))))
            case "sync": events.append(.flush(try file()))
            case "lose": events.append(.failedFlush(try file(), isReverted: false))
            case "revert":
                events.append(.failedFlush(try file(), isReverted: true))
                live = contentSeen()
            case "create", "folder", "unnamed":
                let id = takeID(UInt64(try number(1)))
                if words[0] == "create", text(from: 3).hasSuffix("-shm") { indexes.insert(id) }
                apply(.begin(file: id, Node(isFolder: words[0] == "folder", mode: UInt16(try number(2, radix: 8)))))
                if words[0] != "unnamed" { apply(.names(cleared: [], set: [(try entry(text(from: 3)), id)])) }
            case "link": apply(.names(cleared: [], set: [(try entry(text(from: 2)), try file())]))
            case "unlink": apply(.names(cleared: [try entry(text(from: 1))], set: []))
            case "rename":
                let new = line()
                apply(.names(cleared: [try entry(text(from: 2))], set: [(try entry(new), try file())]))
            default: throw ProgramFailure("The log has a change that the record does not know: \(words)")
            }
        }
    }

    private mutating func apply(_ kind: Change.Kind) {
        var change = Change(kind: kind)
        if let file = change.flushedWith { change.formerSize = live[file]?.bytes.count ?? 0 }
        change.apply(to: &live)
        events.append(.change(change))
    }

    /// Whether a change is one of the index of a log.
    func isOfIndex(_ change: Change) -> Bool { change.flushedWith.map(indexes.contains) ?? false }

    /// Adds the beginning of another program that uses the same files. The machine was not restarted in between.
    mutating func beginAnotherProgram() { events.append(.told("begins")) }

    /// Whether a flush has failed.
    var hasFailedFlush: Bool { events.contains { if case .failedFlush = $0 { true } else { false } } }

    /// The answer after the last event; see ``LastAnswer``.
    var lastAnswer: String? {
        var answer = LastAnswer()
        for case .told(let text) in events { answer.hear(text) }
        return answer.told
    }

    /// The files as programs see them after the last event: without the changes that a failed flush has reverted.
    private func contentSeen() -> [Int: Node] {
        var changes: [(change: Change, isDurable: Bool)] = []
        for event in events {
            switch event {
            case .change(let change): changes.append((change, false))
            case .flush(let file):
                for index in changes.indices where changes[index].change.flushedWith == file { changes[index].isDurable = true }
            case .failedFlush(let file, isReverted: true): changes.removeAll { $0.change.flushedWith == file && !$0.isDurable }
            case .failedFlush, .told: break
            }
        }
        var seen = nodes
        for (change, _) in changes { change.apply(to: &seen) }
        return seen
    }

    /// The folder and the name of a path below the root.
    private func entry(_ path: String) throws -> Change.Entry {
        var folder = Self.root
        let parts = path.split(separator: "/").map(String.init)
        guard let name = parts.last else { throw ProgramFailure("The log has a change of the root") }
        for part in parts.dropLast() {
            guard let id = live[folder]?.entries[part] else { throw ProgramFailure("The log has a folder without a beginning: \(path)") }
            folder = id
        }
        return Change.Entry(folder: folder, name: name)
    }
}

extension DiskRecord.Change {
    /// Makes the change in the nodes. A change of a file or folder that does not exist has no effect.
    func apply(to nodes: inout [Int: DiskRecord.Node]) {
        switch kind {
        case .begin(let file, let node): nodes[file] = node
        case .write(let file, let offset, let bytes):
            nodes[file]?.grow(to: offset + bytes.count)
            nodes[file]?.bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        case .resize(let file, let size):
            if let count = nodes[file]?.bytes.count, count > size { nodes[file]?.bytes.removeLast(count - size) }
            nodes[file]?.grow(to: size)
        case .extend(let file, let size): nodes[file]?.grow(to: size)
        case .mode(let file, let mode): nodes[file]?.mode = mode
        case .names(let cleared, let set):
            for entry in cleared { nodes[entry.folder]?.entries[entry.name] = nil }
            for (entry, file) in set { nodes[entry.folder]?.entries[entry.name] = file }
        }
    }

    /// Splits a write into its parts in each block of a size. If the write makes the file longer, the first part is the
    /// new size. Other changes are not split.
    func split(inBlocksOf size: Int = 4_096) -> [DiskRecord.Change] {
        guard case .write(let file, let offset, let bytes) = kind else { return [self] }
        let end = offset + bytes.count
        var parts: [DiskRecord.Change] = []
        if end > formerSize { parts.append(DiskRecord.Change(kind: .extend(file: file, size: end), formerSize: formerSize)) }
        var start = offset
        while start < end {
            let next = min(end, (start / size + 1) * size)
            let part = Array(bytes[start - offset..<next - offset])
            parts.append(DiskRecord.Change(kind: .write(file: file, offset: start, bytes: part), formerSize: max(formerSize, end)))
            start = next
        }
        return parts
    }

    /// The first half of a write; nil for other changes.
    var torn: DiskRecord.Change? {
        guard case .write(let file, let offset, let bytes) = kind, bytes.count > 1 else { return nil }
        return DiskRecord.Change(kind: .write(file: file, offset: offset, bytes: Array(bytes.prefix(bytes.count / 2))))
    }
}

extension DiskRecord.Node {
    fileprivate mutating func grow(to size: Int) {
        if bytes.count < size { bytes += [UInt8](repeating: 0, count: size - bytes.count) }
    }
}
