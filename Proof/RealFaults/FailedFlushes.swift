import Foundation
import TestSupport

/// Flushes that fail and drop what they should have written. After such a flush, the program continues, or another
/// program does the operation again. It reads the page cache, which still has the new content. Then the power is cut.
/// All acknowledged changes must be on the disk, and all other values as well.
extension Trials {
    /// A flush that fails, and what the program does afterwards.
    package struct FailedFlush: Hashable, Sendable, CustomStringConvertible {
        enum Course: String, CaseIterable, Sendable {
            /// Only this flush fails. The program gets its answer, and ends without closing its stores.
            case abandoned
            /// Only this flush fails. The program gets its answer, and closes its stores.
            case closed
            /// Only this flush fails. The program does the operation again, and closes its stores.
            case repeated
            /// This flush fails, and all later ones until the program has ended.
            case failing
            /// The program is killed before its next change.
            case killed
        }

        let number: Int
        /// The path of the file or folder, below the root.
        let path: String
        let isFolder: Bool
        let course: Course
        /// Whether reads return the former content after the failure, as on Btrfs.
        let isReverted: Bool

        package var description: String { "flush \(number) of \(path.isEmpty ? "/" : path), \(course)\(isReverted ? ", reverted" : "")" }

        /// The plan for the shim.
        var plan: String {
            let span =
                switch course {
                case .abandoned, .closed, .repeated: "once"
                case .failing: "on"
                case .killed: "killed"
                }
            return "drop \(number) \(span) \(isReverted ? "reverted" : "kept")"
        }

        /// The ending that the worker gets as an argument.
        var ending: String {
            switch course {
            case .abandoned, .failing: "abandon"
            case .closed, .killed: "close"
            case .repeated: "again"
            }
        }
    }

    /// Every flush of the operation, in every course.
    package var failedFlushes: [FailedFlush] {
        let flushes = calls.compactMap { $0.hasPrefix("sync ") ? String($0.dropFirst("sync ".count)) : nil }
        return flushes.enumerated().flatMap { index, path in
            let isFolder = path.isEmpty || folders.contains(path)
            return FailedFlush.Course.allCases.flatMap { course in
                // A folder is metadata. If metadata cannot be written, the file system becomes read-only.
                (isFolder ? [false] : [false, true]).map {
                    FailedFlush(number: index + 1, path: path, isFolder: isFolder, course: course, isReverted: $0)
                }
            }
        }
    }

    /// Lets a flush fail, continues, and checks every disk that a later power cut can leave.
    /// - Parameters:
    ///   - limit: How many disks of each loss are checked at most. They are from evenly distributed moments.
    ///   - planted: With `retries`, the flush reports success, as if the library had repeated it. The checks must notice
    ///     this.
    package func run(_ flush: FailedFlush, disks limit: Int = .max, planted: Planted? = nil) async throws -> Outcome {
        let folder = try place.makeRoot()
        let root = folder.file("root")
        try await begin(at: root)
        var record = try DiskRecord(folder: root)
        let acted = try await place.work(
            "act", operation, in: root, ending: flush.ending, plan: flush.plan, log: folder.file("first"), ignoring: planted?.rawValue)
        try record.read(folder.file("first"))
        var outcome = Outcome(hasFired: record.hasFailedFlush, seconds: acted.seconds)
        outcome.what = "\(flush)"
        guard outcome.hasFired else { return outcome }
        var wrong: [String] = []
        let answer = acted["again"] ?? acted["told"] ?? ""
        if answer.hasPrefix("untyped") { wrong.append("an error without a type: \(answer)") }
        if acted.status != 0, flush.course != .killed || acted.status != SIGKILL { wrong.append("the program ended with \(acted.status)") }
        outcome.told = record.lastAnswer
        if !flush.isFolder {
            // The machine is not restarted, so the next program reads what is in the page cache.
            let told = record.lastAnswer
            record.beginAnotherProgram()
            let next = try await place.work("check", operation, in: root, plan: "record 0", log: folder.file("second"))
            try record.read(folder.file("second"))
            wrong += expectation.violations(told: told, then: acted.state("then"), found: next).map { "before a restart: \($0)" }
        }
        if !wrong.isEmpty {
            let text = "\(operation.name): \(flush): \(wrong.joined(separator: "; "))\n      \(acted.text)"
            outcome.violations.append(Violation(description: text))
        }
        for loss in flush.isFolder || flush.isReverted ? [.everything] : CrashImages.Loss.allCases {
            let images = CrashImages(record: record).afterFailedFlush(loss)
            let step = limit >= images.count ? 1 : (images.count + limit - 1) / limit
            for image in stride(from: images.count - 1, through: 0, by: -step).map({ images[$0] }) {
                outcome.disks += 1
                outcome.violations += try await run(Cut(image: image, root: root)).violations.map {
                    Violation(description: "\(flush): \($0)")
                }
            }
        }
        return outcome
    }
}
