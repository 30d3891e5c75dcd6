import BackendContract
import BackendRuntime
import Crypto
import Foundation
import LocalData
import Sealing

/// The entries of a backup, inside the sealed stream: a byte for the type, a counted content.
enum BackupEntry: UInt8 {
    /// JSON: ``BackupManifest``. The first entry.
    case manifest = 1
    /// A sealing key: ``BackupSourceKeys``.
    case key = 2
    /// A store begins: counted kind, counted scope.
    case store = 3
    /// A part of the store's content.
    case part = 4
    /// The store ends: ``BackupStoreEnd``.
    case storeEnd = 5
    /// JSON: ``BackupEnd``. The last entry.
    case end = 6
}

/// What a backup is of.
struct BackupManifest: Codable {
    var application: String
    var context: String
    /// Seconds since 1970.
    var created: Double
    var stores: [Name]
    var omitted: [String]
    /// Missing in backups of before 2026-11-25.
    var notFound: [String]?

    struct Name: Codable, Hashable {
        var kind: String
        var scope: String
    }
}

/// What is known of a store when its last part was written: the number of its parts (8 bytes), SHA-256 of the parts, each counted, and what
/// became of it: 0 it is whole, 1 it was damaged and its file is there as it is, 2 and a counted error code: it could not be read.
struct BackupStoreEnd: Equatable {
    var parts: Int
    var digest: [UInt8]
    /// Whether it was damaged, and its file is there as it is.
    var isDamaged = false
    /// Why it could not be read; then its parts are not to be restored.
    var problem: String?

    init(_ digest: BackupDigest) { (parts, self.digest) = (digest.parts, digest.digest) }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.fixed(UInt64(parts))
        writer.bytes += digest
        writer.byte(problem != nil ? 2 : isDamaged ? 1 : 0)
        if let problem { writer.counted(problem.utf8) }
        return writer.bytes
    }

    /// Reads an end whose parts have a digest.
    init(_ bytes: [UInt8], of digest: BackupDigest) throws(RecordDamage) {
        self.init(digest)
        var reader = ByteReader(bytes[...])
        guard try reader.fixed(UInt64.self) == UInt64(parts) else { throw RecordDamage("counts other parts") }
        for byte in self.digest { guard try reader.byte() == byte else { throw RecordDamage("is of other parts") } }
        let state = try reader.byte()
        isDamaged = state == 1
        if state == 2 { problem = try reader.text() }
        guard state <= 2, reader.isAtEnd else { throw RecordDamage("says what nobody knows") }
    }
}

/// What was known when all stores were written.
struct BackupEnd: Codable {
    var stores: [Store]

    struct Store: Codable {
        var kind: String
        var scope: String
        var parts: Int
        var bytes: Int
        /// In hexadecimal.
        var digest: String
        /// Changed by a program without the lock while the stores were copied.
        var foreign: Bool
        /// Changed between the copy and the end.
        var older: Bool
        /// Damaged, so that its file is there as it is.
        var damaged: Bool
        /// The error code for which it could not be read; left out where it could.
        var problem: String?
    }
}

/// The keys of a source and where they were kept: counted form, service, name, and the 32 bytes of each key, the one that seals first.
struct BackupSourceKeys: Sendable {
    let reference: KeySourceReference
    let keys: SourceKeys

    /// The entry's content, which the caller wipes.
    var content: [UInt8] {
        let (form, service, name): (String, String?, String) =
            switch reference.form {
            case .configured: ("configured", nil, "")
            case .keychain(let service, let name): ("keyring", service, name)
            case .keyFile(let path): ("keyFile", nil, path)
            case .credential(let name): ("credential", nil, name)
            case .passphrase(let name): ("passphrase", nil, name)
            case .secretPortal(let name): ("portal", nil, name)
            case .custom(let name): ("custom", nil, name)
            }
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(
            16 + keys.all.count * SealingKey.keyLength + form.utf8.count + (service ?? "").utf8.count + name.utf8.count)
        writer.counted(form.utf8)
        writer.counted((service ?? "").utf8)
        writer.counted(name.utf8)
        writer.fixed(UInt32(keys.all.count * SealingKey.keyLength))
        for key in keys.all { key.withBytes { writer.bytes.append(contentsOf: $0) } }
        return writer.bytes
    }

    init(_ reference: KeySourceReference, _ keys: SourceKeys) { (self.reference, self.keys) = (reference, keys) }

    init(content: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(content[...])
        let form = try reader.text()
        let service = try reader.text()
        let name = try reader.text()
        var bytes = try reader.counted()
        defer { wipe(&bytes) }
        guard !bytes.isEmpty, bytes.count.isMultiple(of: SealingKey.keyLength), reader.isAtEnd else { throw RecordDamage("is not a key") }
        switch form {
        case "keyring": reference = .keychain(service: service.isEmpty ? nil : service, name: name)
        case "keyFile": reference = .keyFile(name)
        case "credential": reference = .credential(name)
        case "passphrase": reference = .passphrase(name)
        case "portal": reference = .secretPortal(name)
        case "custom": reference = .custom(name)
        default: throw RecordDamage("is of an unknown source")
        }
        let all = bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: SealingKey.keyLength).map {
                SealingKey(key: SymmetricKey(data: bytes[$0..<$0 + SealingKey.keyLength]))
            }
        }
        do throws(BackendError) { keys = try SourceKeys(all[0], others: Array(all.dropFirst())) } catch {
            throw RecordDamage("is not the keys of a source")
        }
    }
}

/// The digest of a store's content: SHA-256 of its parts, each counted.
struct BackupDigest {
    private var hash = SHA256()
    private(set) var parts = 0
    private(set) var bytes = 0

    mutating func take(_ part: [UInt8]) {
        withUnsafeBytes(of: UInt32(part.count).bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: part)
        parts += 1
        bytes += part.count
    }

    var digest: [UInt8] { Array(hash.finalize()) }
}
