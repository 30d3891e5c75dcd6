import BackendContract
import BackendRuntime
public import Foundation
public import LocalData
import Sealing

extension StorageRouter {
    /// Exports values and collections to one sealed file, for other programs and other machines.
    ///
    /// ```swift
    /// let report = try await storage.export([.key(.city), .collection(notes)], to: file, openedBy: [.passphrase("four random words")])
    /// for record in report.damaged { print("not exported: \(record)") }
    /// ```
    ///
    /// Each value is one line of JSON. The file has permissions 0600 and is durable when this returns. A value at a
    /// legacy location, or of an earlier version, is migrated first. Values are read one after the other, so an export
    /// can mix values of different moments. ``backup(to:openedBy:including:progress:)`` copies all values at one
    /// moment.
    /// - Parameters:
    ///   - entries: The keys and collections to export. Absent and expired values are skipped.
    ///   - file: The file to create. An existing file is never replaced.
    ///   - recipients: The passphrases and recovery keys. Each one alone opens the export.
    /// - Returns: The exported values, and the records that are damaged.
    /// - Throws: `StorageError`: `encodingFailed` for a value that JSON cannot represent; the errors of reading a value. No file is
    ///   left after an error.
    @concurrent
    @discardableResult
    public nonisolated func export(_ entries: [AnyStorageKey], to file: URL, openedBy recipients: [BackupKey]) async throws -> ExportReport
    {
        try await call("export") {
            let header = try await translatingErrors(key: "export") { () throws(BackendError) in
                var made: [StreamRecipient] = []
                for recipient in recipients { made.append(try recipient.recipient()) }
                return try await StreamHeader.make(.export, for: made, configuration.runtime)
            }
            let sealed = try await translating("export", await SealedFileWriter(file.path, header, configuration))
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

    /// Exports values and collections as lines of JSON *without encryption*. Use ``export(_:to:openedBy:)`` to write a file.
    ///
    /// ```swift
    /// var lines = Data()
    /// try await storage.exportAsPlaintextThatAnyoneCanRead([.key(.city)]) { lines += $0 }
    /// ```
    /// - Parameters:
    ///   - entries: The keys and collections to export.
    ///   - write: Receives the lines in order.
    @concurrent
    @discardableResult
    public nonisolated func exportAsPlaintextThatAnyoneCanRead(
        _ entries: [AnyStorageKey], _ write: (Data) async throws -> Void
    ) async throws -> ExportReport {
        try await call("exportPlaintext") { try await ValueExport(router: self).write(entries) { try await write(Data($0)) } }
    }

    /// Imports the values of a file that ``export(_:to:openedBy:)`` wrote.
    ///
    /// ```swift
    /// do {
    ///     let report = try await storage.importValues(from: file, with: .passphrase("four random words"), into: [.collection(notes)])
    ///     for name in report.kept { print("\(name) already has another value, which was kept.") }
    /// } catch StorageError.encryptionKeyMismatch { print("This is not the passphrase of the file. No value was stored.") }
    /// ```
    ///
    /// The whole file is read and verified before the first value is stored. Each stored value is durable when this returns.
    /// - Parameters:
    ///   - file: The export.
    ///   - key: A passphrase or recovery key that opens the export.
    ///   - entries: The keys and collections that the import may change.
    ///   - replacing: Whether to overwrite existing values that differ.
    /// - Returns: The outcome for each value.
    /// - Throws: `StorageError`: `corrupted` and `encryptionKeyMismatch` for the file, before any value is stored; the errors of
    ///   storing a value. You can safely repeat the call.
    @concurrent
    @discardableResult
    public nonisolated func importValues(
        from file: URL, with key: BackupKey, into entries: [AnyStorageKey], replacing: Bool = false
    ) async throws -> ImportReport {
        try await call("importValues", isStepwise: true) {
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

    /// Imports lines of ``exportAsPlaintextThatAnyoneCanRead(_:_:)``, like ``importValues(from:with:into:replacing:)``.
    ///
    /// ```swift
    /// let report = try await storage.importPlaintext(lines, into: [.key(.city)])
    /// ```
    @concurrent
    @discardableResult
    public nonisolated func importPlaintext(
        _ lines: Data, into entries: [AnyStorageKey], replacing: Bool = false
    ) async throws -> ImportReport {
        try await call("importPlaintext", isStepwise: true) {
            try await importLines(into: entries, replacing) {
                var rest: [UInt8]? = Array(lines)
                return { rest.take() }
            }
        }
    }

    /// Stores values of another program. The outcomes are those of ``importPlaintext(_:into:replacing:)``.
    /// - Parameters:
    ///   - documents: The values, by their names.
    ///   - keys: The keys of the values to store.
    ///   - replacing: Whether to replace other values, which are lost.
    @concurrent
    package nonisolated func importDocuments(
        _ documents: [String: DocumentValue], into keys: [AnyStorageKey], replacing: Bool
    ) async throws -> ImportReport {
        try await call("importDocuments", isStepwise: true) {
            func anyValue<Key: OpenedKey>(_ opened: Key) -> StorageKey<DocumentValue>? { opened.typed as? StorageKey<DocumentValue> }
            var report = ImportReport()
            for entry in keys {
                guard let document = documents[entry.name], let key = anyValue(entry.opened) else { continue }
                report.note(entry.name, try await ValueExport(router: self).store(document, key, replacing: replacing))
            }
            return report
        }
    }

    /// Reads the lines twice: the first pass only verifies that the export is complete, and the second one stores the values.
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
        // Reason: "An import does not overwrite values by default" in Docs/Decisions/Backups.md.
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
