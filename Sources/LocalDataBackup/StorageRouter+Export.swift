import BackendContract
import BackendRuntime
public import Foundation
public import LocalData
import Sealing

extension StorageRouter {
    /// Writes values and collections into one sealed file, a line of JSON each, for other programs and other machines; 0600, durable when it returns. A value that is not
    /// in its place or shape is brought there first. Values are not of one moment; ``backup(to:openedBy:including:progress:)`` is.
    /// - Parameters:
    ///   - entries: The keys and collections. An absent value, and one that has expired, is left out.
    ///   - file: The export. A file that is there is not replaced.
    ///   - recipients: What opens it, one of them.
    /// - Returns: What was written, and which records are damaged.
    /// - Throws: ``StorageError``: `encodingFailed` for a value that JSON cannot hold; what reading a value throws. There is no file then.
    @concurrent
    @discardableResult
    public nonisolated func export(_ entries: [AnyStorageKey], to file: URL, openedBy recipients: [BackupKey]) async throws -> ExportReport
    {
        try await Self.cancellable("storage") {
            let header = try await translatingErrors(key: "export") { () throws(BackendError) in
                var made: [StreamRecipient] = []
                for recipient in recipients { made.append(try recipient.recipient()) }
                return try await StreamHeader.make(.export, for: made, configuration.runtime)
            }
            let sealed = try await translatingErrors(key: "export") { () throws(BackendError) in
                try await SealedFileWriter(file.path, header, configuration)
            }
            do {
                let report = try await ValueExport(router: self).write(entries) { bytes in
                    try await translatingErrors(key: "export") { () throws(BackendError) in try await sealed.write(bytes) }
                }
                try await translatingErrors(key: "export") { () throws(BackendError) in try await sealed.finish() }
                return report
            } catch {
                await sealed.discard()
                throw error
            }
        }
    }

    /// Gives values and collections as lines of JSON that *anyone can read who gets hold of them*. Use ``export(_:to:openedBy:)`` for a file.
    /// - Parameters:
    ///   - entries: The keys and collections.
    ///   - write: Takes the lines, one after the other.
    @concurrent
    @discardableResult
    public nonisolated func exportAsPlaintextThatAnyoneCanRead(
        _ entries: [AnyStorageKey], _ write: (Data) async throws -> Void
    ) async throws -> ExportReport {
        try await Self.cancellable("storage") { try await ValueExport(router: self).write(entries) { try await write(Data($0)) } }
    }

    /// Stores what ``export(_:to:openedBy:)`` wrote, value by value. A value that is there is not overwritten, unless the call says so; each is durable when this returns. The
    /// file is read to its end before anything is stored.
    /// - Parameters:
    ///   - file: The export.
    ///   - key: What opens it.
    ///   - entries: The keys and collections that it may change, in their domains of this program.
    ///   - replacing: Whether to store over other values.
    /// - Returns: What became of each value.
    /// - Throws: ``StorageError``: `corrupted` and `encryptionKeyMismatch` for the file, and nothing was stored then; what storing a value throws. Repeating it is harmless.
    @concurrent
    @discardableResult
    public nonisolated func importValues(
        from file: URL, with key: BackupKey, into entries: [AnyStorageKey], replacing: Bool = false
    ) async throws -> ImportReport {
        try await Self.cancellable("storage", isStepwise: true) {
            let opener = try await translatingErrors(key: "import") { () throws(BackendError) in try key.opener() }
            var opened: StreamHeader?
            return try await importLines(into: entries, replacing) {
                let sealed = try await translatingErrors(key: "import") { [opened] () throws(BackendError) in
                    try await SealedFileReader(
                        file.path, opening: opened.map { .opened($0) } ?? opener, for: .export, runtime: configuration.runtime)
                }
                opened = sealed.header
                return { try await translatingErrors(key: "import") { () throws(BackendError) in try await sealed.next() } }
            }
        }
    }

    /// Stores the lines that ``exportAsPlaintextThatAnyoneCanRead(_:_:)`` gave, as ``importValues(from:with:into:replacing:)`` does.
    @concurrent
    @discardableResult
    public nonisolated func importPlaintext(
        _ lines: Data, into entries: [AnyStorageKey], replacing: Bool = false
    ) async throws -> ImportReport {
        try await Self.cancellable("storage", isStepwise: true) {
            try await importLines(into: entries, replacing) {
                var rest: [UInt8]? = Array(lines)
                return {
                    defer { rest = nil }
                    return rest
                }
            }
        }
    }

    /// Reads twice: the first time only to know that the end is there.
    private nonisolated func importLines(
        into entries: [AnyStorageKey], _ replacing: Bool, _ open: () async throws -> () async throws -> [UInt8]?
    ) async throws -> ImportReport {
        func lines(_ body: ([UInt8], ExportLineHead) async throws -> Void) async throws {
            var splitter = LineSplitter()
            var (count, end): (Int, Int?) = (-1, nil)
            let next = try await open()
            while let bytes = try await next() {
                for line in splitter.take(bytes) {
                    guard end == nil else { throw ExportCoding.damaged }
                    if count == -1 {
                        guard try ExportCoding.decode(ExportStart.self, line).format == ExportStart.format else {
                            throw ExportCoding.damaged
                        }
                    } else if let head = try? ExportCoding.decode(ExportLineHead.self, line) {
                        try await body(line, head)
                    } else {
                        end = try ExportCoding.decode(ExportEnd.self, line).lines
                        continue
                    }
                    count += 1
                }
            }
            guard splitter.isAtEnd, let end, end == count else { throw ExportCoding.damaged }
        }
        try await lines { _, _ in }
        var report = ImportReport()
        try await lines { line, head in
            guard let outcome = try await ValueExport(router: self).store(line, head, entries, replacing: replacing) else {
                return report.unknown.append(head.title)
            }
            report.note(head.title, outcome)
        }
        return report
    }
}
