import Foundation
import TestSupport

/// Power cuts of one operation. A preloaded library records the changes that the operation makes on the disk. A new
/// process checks every disk that a cut could leave.
extension Trials {
    /// A planted mistake, which the checks of the disks must notice.
    package enum Planted: String, CaseIterable, Sendable {
        /// Flushes of folders, or of write-ahead logs, are left out of the recording, as if the library had not made
        /// them.
        case directories, logs
        /// Flushes that fail report success, as if the library had repeated them. Has no effect on other searches.
        case retries
    }

    /// Which disks a power cut can leave.
    package enum Model: String, CaseIterable, Sendable {
        /// The two models of ``CrashImages``.
        case own
        /// Further disks, in which a write was torn into parts, or a file has its size without its content.
        case alice
        /// The disks of `alice`, and disks in which a rename or removal was divided. Journaling file systems never leave
        /// those.
        case dividedNames
    }

    /// A disk after a power cut.
    package struct Cut: Sendable {
        let image: CrashImages.Image
        /// The folder in which the operation was recorded.
        let root: String
    }

    /// Every disk that a power cut during the operation, or after it, can leave.
    package func cuts(_ model: Model = .own, ignoring planted: Planted? = nil) async throws -> [Cut] {
        let folder = try place.makeRoot()
        let root = folder.file("root")
        try await begin(at: root)
        var record = try DiskRecord(folder: root)
        let acted = try await act(root, log: folder.file("log"), killedBefore: 0, planted)
        guard acted["told"] == "acknowledged" else { throw ProgramFailure("\(operation.name), recorded: \(acted.text)") }
        try record.read(folder.file("log"))
        let images = CrashImages(record: record)
        let disks =
            switch model {
            case .own: images.all()
            case .alice: images.alice()
            case .dividedNames: images.alice(dividesNames: true)
            }
        return disks.map { Cut(image: $0, root: root) }
    }

    /// The disk that a power cut can leave after a kill and a second run. The program is killed before a change. A
    /// second program does the operation again. The power is cut after the second program got its acknowledgement.
    /// - Returns: No disk if the second program got no acknowledgement.
    package func cut(afterKillBefore change: Int) async throws -> [Cut] {
        let folder = try place.makeRoot()
        let root = folder.file("root")
        try await begin(at: root)
        var record = try DiskRecord(folder: root)
        _ = try await act(root, log: folder.file("first"), killedBefore: change, nil)
        try record.read(folder.file("first"))
        let acted = try await act(root, log: folder.file("second"), killedBefore: 0, nil)
        guard acted["told"] == "acknowledged" else { return [] }
        try record.read(folder.file("second"))
        return CrashImages(record: record).all(onlyLast: true).map { Cut(image: $0, root: root) }
    }

    private func act(_ root: String, log: String, killedBefore change: Int, _ planted: Planted?) async throws -> Telling {
        try await place.work(
            "act", operation, in: root, ending: "close", plan: "record \(change)", log: log, ignoring: planted?.rawValue)
    }

    /// Checks a disk after a power cut with a new process.
    package func run(_ cut: Cut) async throws -> Outcome {
        let folder = try place.makeRoot()
        let root = folder.file("root")
        try cut.image.write(to: root, insteadOf: cut.root)
        let found = try await place.work("check", operation, in: root)
        let wrong = expectation.violations(told: cut.image.told, then: nil, found: found)
        var outcome = Outcome(seconds: found.seconds, told: cut.image.told)
        if !wrong.isEmpty {
            let text = """
                \(operation.name): cut, \(cut.image.description), told \(cut.image.told ?? "nothing"): \(wrong.joined(separator: "; "))
                      \(found.text)
                """
            outcome.violations.append(Violation(description: text))
        }
        return outcome
    }
}
