import BackendContract
import BackendRuntime

/// The content of the secret of a keyring item. In LocalData's format it is one line: `LD1:`, and then a value with its
/// metadata, encoded by ``RecordCodec`` and in base64. Otherwise it is the bare text of another program.
///
/// LocalData's format has no line breaks. In a collection without a password, one secret with a line break makes the
/// whole collection unreadable for gnome-keyring. The format is text, because KWallet stores only text.
enum KeyringPayload {
    private static let prefix = Array("LD1:".utf8)

    /// Returns the line of a record, a value with its metadata. No other copy of the line remains in memory, and the
    /// caller must wipe it.
    static func line(_ record: StorageRecord) -> [UInt8] {
        var bytes = RecordCodec.encode(record)
        defer { wipe(&bytes) }
        return line(bytes)
    }

    /// Returns the line of a tombstone, the record of a removal.
    static func line(_ tombstone: StorageTombstone) -> [UInt8] { line(RecordCodec.encode(tombstone)) }

    private static func line(_ bytes: [UInt8]) -> [UInt8] {
        Array(unsafeUninitializedCapacity: prefix.count + Base64.encodedLength(of: bytes.count)) { line, filled in
            filled = line.initialize(fromContentsOf: prefix)
            let text = UnsafeMutableBufferPointer(rebasing: line[filled...])
            text.initialize(repeating: 0)
            bytes.withUnsafeBytes { Base64.encode($0, into: text) }
            filled = line.count
        }
    }

    /// Decodes a secret.
    /// - Parameters:
    ///   - secret: The bytes of the secret.
    ///   - isInterop: Whether the store has an interop style, in which items contain only the bare text of another
    ///     program.
    ///   - revision: The revision for a secret that contains none.
    static func probe(_ secret: [UInt8], isInterop: Bool, revision: StorageRevision) -> StorageProbe {
        guard !isInterop, secret.starts(with: prefix) else { return .value(foreign(secret, revision)) }
        guard var bytes = Base64.decode(secret[prefix.count...]) else {
            return .corrupt(StorageCorruption(bytes: secret, revision: revision, reason: "the item's line is not base64"))
        }
        defer { wipe(&bytes) }
        return RecordCodec.decode(bytes).probe(ofForeign: "the item's line does not hold a record") { reason in
            .corrupt(StorageCorruption(bytes: secret, revision: revision, reason: reason))
        }
    }

    /// Decodes a secret that is a record or a tombstone in LocalData's format; returns nil for any other secret.
    static func record(_ secret: [UInt8]) -> StorageProbe? {
        guard secret.starts(with: prefix), var bytes = Base64.decode(secret[prefix.count...]) else { return nil }
        defer { wipe(&bytes) }
        switch RecordCodec.decode(bytes) {
        case .record(let record): return .value(record)
        case .tombstone(let tombstone): return .tombstone(tombstone)
        case .damaged, .foreign, .unknownFormat: return nil
        }
    }

    private static func foreign(_ secret: [UInt8], _ revision: StorageRevision) -> StorageRecord {
        let text = String(validating: secret, as: UTF8.self)
        return StorageRecord(payload: .native(text.map(NativeValue.string) ?? .data(secret)), revision: revision, isForeign: true)
    }

    /// Returns the bare text of a payload (the content of a value) in an interop style.
    /// - Throws: ``BackendError`` with `unsupported` if the payload is not text, is empty, or is a text that a
    ///   keyring may lose.
    static func text(_ payload: StoragePayload) throws(BackendError) -> [UInt8] {
        var text = try bareText(payload)
        let reason: String
        if text.isEmpty {
            reason = "A daemon that ends while it creates an item leaves an item without a text"
        } else if let why = whyLost(text) {
            reason = why
        } else {
            return text
        }
        wipe(&text)
        throw BackendError(.unsupported, "\(reason), so this style does not keep such a text. Use .localData, which keeps any.")
    }

    /// Returns why a keyring may lose a text; nil for a text that every keyring keeps.
    ///
    /// gnome-keyring writes a collection without a password as a GKeyFile, and does not escape backslashes. When it
    /// reads the file, it interprets them as escapes. So at its next start, a backslash and an `n` in a text become a
    /// line break. After the next change and another start, the collection is unreadable.
    static func whyLost(_ text: [UInt8]) -> String? {
        if text.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            "A line break in one text makes a keyring without a password unreadable"
        } else if text.contains(0) {
            "Some keyrings cut a text off at a NUL"
        } else if text.contains(UInt8(ascii: "\\")) {
            "A keyring without a password changes a backslash at its next start, and is unreadable after the one that follows"
        } else if text.first.map({ $0 == UInt8(ascii: " ") || (9...13).contains($0) }) == true {
            "A keyring without a password loses the blanks at the beginning of a text"
        } else {
            nil
        }
    }

    private static func bareText(_ payload: StoragePayload) throws(BackendError) -> [UInt8] {
        switch payload {
        case .native(.string(let text)): return Array(text.utf8)
        case .bytes(let bytes), .native(.data(let bytes)):
            if String(validating: bytes, as: UTF8.self) != nil { return bytes }
            throw BackendError(
                .unsupported, "Other programs read only text (UTF-8) from the keyring. Use a serializer that writes text, or .localData.")
        case .native(.integer(let number)): return Array(String(number).utf8)
        case .native(.unsigned(let number)): return Array(String(number).utf8)
        case .native(.boolean(let flag)): return Array(String(flag).utf8)
        case .native(.real(let number)): return Array(String(number).utf8)
        case .native:
            throw BackendError(
                .unsupported, "Other programs read only text from the keyring. Use a serializer that writes text, or .localData.")
        }
    }

    /// Returns a revision (identifier of a state) for an item whose secret contains none. It is computed in memory,
    /// differs in every process, and is never stored.
    ///
    /// The revision consists of two keyed hashes of the item's path, modification time and secret. It reveals nothing
    /// about the secret.
    static func revision(path: String, modified: UInt64, secret: [UInt8]) -> StorageRevision {
        var bytes: [UInt8] = []
        for round in 0..<2 as Range<UInt8> {
            // Reason: "Everything from the machine is injected" in Docs/Decisions/LocksAndCommits.md.
            var hasher = Hasher()
            hasher.combine(round)
            hasher.combine(path)
            hasher.combine(modified)
            hasher.combine(secret)
            withUnsafeBytes(of: hasher.finalize()) { bytes.append(contentsOf: $0) }
        }
        return StorageRevision([0xF0] + bytes)
    }
}
