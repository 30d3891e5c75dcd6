import Foundation
import TestSupport

/// Computes the states of a disk that a power cut can leave, from the recorded changes of a program.
///
/// There are two models of the file system. In the *strict* model, a flush of a file makes its content durable. A flush
/// of a folder makes the names in it durable. A change that was not flushed may be lost. So there are images with none
/// of these changes, with only one, with all but one, and with all. In further images, half of the last write is on the
/// disk.
///
/// The *ordered* model is that of ext4 with its default options. All changes of names and sizes up to some moment are
/// on the disk. This moment is not before the last flush of any file. Of the content that was not flushed, either
/// everything is on the disk or nothing.
///
/// Two other files have further images: `CrashImages+Alice.swift` those of the model of ALICE, and
/// `CrashImages+FailedFlush.swift` those after a flush that failed.
struct CrashImages {
    /// A disk after a power cut, and the answer that the program got before the cut.
    struct Image: Sendable {
        let nodes: [Int: DiskRecord.Node]
        let told: String?
        let description: String
    }

    let record: DiskRecord

    /// Returns every image, that is, every state of the disk after a power cut at any moment. Equal images are returned
    /// once.
    /// - Parameter onlyLast: If true, returns only the image after the last event that has just the durable changes.
    func all(onlyLast: Bool = false) -> [Image] {
        var collector = ImageCollector(record)
        var changes: [(number: Int, change: DiskRecord.Change)] = []
        var durable: Set<Int> = []
        var lastFlush = 0
        var told: String?

        func add(_ description: String, last torn: DiskRecord.Change? = nil, _ isThere: (Int, DiskRecord.Change) -> Bool) {
            var there = changes.enumerated().compactMap { $1.change.isBeginning || isThere($0, $1.change) ? $1.change : nil }
            if let torn { there.append(torn) }
            collector.add(description, told: told, there)
        }

        func cut(_ number: Int) {
            let pending = changes.indices.filter { !durable.contains($0) && changes[$0].change.flushedWith != nil }
            add("strict, event \(number): what is durable") { index, _ in durable.contains(index) }
            if onlyLast { return }
            add("event \(number): everything") { _, _ in true }
            for one in pending {
                add("strict, event \(number): and change \(one)") { index, _ in durable.contains(index) || index == one }
                add("strict, event \(number): all but change \(one)") { index, _ in index != one }
            }
            let final = changes.count - 1
            if let last = changes.last?.change.torn, !durable.contains(final) {
                add("strict, event \(number): half of the last write", last: last) { index, _ in durable.contains(index) }
                add("event \(number): everything, and half of the last write", last: last) { index, _ in index != final }
            }
            for end in lastFlush...changes.count {
                add("ordered, event \(number): names and sizes to \(end), content as flushed") { index, change in
                    durable.contains(index) || (!change.isContent && index < end)
                }
                add("ordered, event \(number): names and sizes to \(end), all content") { index, change in
                    durable.contains(index) || change.isContent || index < end
                }
            }
        }

        for (number, event) in record.events.enumerated() {
            switch event {
            case .change(let change): changes.append((number, change))
            case .flush(let file):
                for (index, element) in changes.enumerated() where element.change.flushedWith == file { durable.insert(index) }
                lastFlush = changes.count
            case .failedFlush: break
            case .told(let text):
                // Only the answer of the operation counts, not the answer of the call that closes the stores.
                if text.hasPrefix("told ") { told = text.split(separator: " ").dropFirst().first.map(String.init) }
            }
            if !onlyLast || number == record.events.count - 1 { cut(number) }
        }
        return collector.images
    }
}

/// Collects images that differ from each other.
struct ImageCollector {
    private let record: DiskRecord
    private(set) var images: [CrashImages.Image] = []
    private var seen: Set<Int> = []

    init(_ record: DiskRecord) { self.record = record }

    /// Adds the image with some changes, unless an equal one was added before.
    mutating func add(_ description: String, told: String?, _ changes: [DiskRecord.Change]) {
        var nodes = record.nodes
        for change in changes { change.apply(to: &nodes) }
        nodes = Self.reachable(nodes)
        if seen.insert([AnyHashable(nodes), AnyHashable(told)].hashValue).inserted {
            images.append(CrashImages.Image(nodes: nodes, told: told, description: description))
        }
    }

    /// Returns the files and folders that can be reached by names from the root.
    private static func reachable(_ nodes: [Int: DiskRecord.Node]) -> [Int: DiskRecord.Node] {
        var found: [Int: DiskRecord.Node] = [:]
        var waiting = [DiskRecord.root]
        while let id = waiting.popLast() {
            guard found[id] == nil, let node = nodes[id] else { continue }
            found[id] = node
            waiting += node.entries.values
        }
        return found
    }
}

extension CrashImages.Image {
    /// Writes the image into a new folder.
    /// - Parameter original: The folder in which the changes were recorded. A restore of a backup writes JSON files
    ///   with paths below this folder. They are replaced by paths below the new folder.
    func write(to path: String, insteadOf original: String) throws {
        try write(DiskRecord.root, to: path) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            // Replaces only the name of the enclosing folder and not the whole path, because JSON may escape slashes.
            let names = [original, path].map {
                ($0 as NSString).deletingLastPathComponent.split(separator: "/").last.map(String.init) ?? ""
            }
            return text.contains(names[0]) ? Array(text.replacing(names[0], with: names[1]).utf8) : bytes
        }
    }

    private func write(_ id: Int, to path: String, _ moved: ([UInt8]) -> [UInt8]) throws {
        guard let node = nodes[id] else { return }
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: NSNumber(value: node.mode)]
        if node.isFolder {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false, attributes: attributes)
            for (name, entry) in node.entries { try write(entry, to: "\(path)/\(name)", moved) }
        } else {
            let bytes = path.contains(".json") ? moved(node.bytes) : node.bytes
            guard FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: attributes) else {
                throw ProgramFailure("\(path) cannot be made")
            }
        }
    }
}
