import BackendContract
import BackendRuntime
import Crypto
import Foundation
import LocalData
import Sealing

/// The type of an entry in the encrypted (sealed) stream of a backup. An entry is one byte for the type, then the
/// length of the content, and then the content.
enum BackupEntry: UInt8 {
    /// JSON: ``BackupManifest``. Always the first entry.
    case manifest = 1
    /// A sealing key: ``BackupSourceKeys``.
    case key = 2
    /// The start of a store: its kind and its scope (its name among stores of this kind), each with its length.
    case store = 3
    /// A part of the store's content.
    case part = 4
    /// The end of a store: ``BackupStoreEnd``.
    case storeEnd = 5
    /// JSON: ``BackupEnd``. Always the last entry.
    case end = 6
}

/// The description of a backup: its application, date and stores, and the context to which sealed data is bound.
struct BackupManifest: Codable {
    var application: String
    var context: String
    /// Seconds since 1970.
    var created: Double
    var stores: [Name]
    var omitted: [String]
    /// Nil in backups that were made before 2026-11-25.
    var notFound: [String]?

    struct Name: Codable, Hashable {
        var kind: String
        var scope: String
    }
}

/// The result of writing one store: the number of parts (8 bytes), the SHA-256 digest of all parts with their lengths,
/// and a state byte. The state byte is 0 for an intact store, 1 for a damaged store whose file was copied unchanged,
/// and 2 for an unreadable store. For an unreadable store, the length of an error code and the code follow.
struct BackupStoreEnd: Equatable {
    var parts: Int
    var digest: [UInt8]
    /// Whether the store was damaged and its file was copied unchanged.
    var isDamaged = false
    /// The error code if the store could not be read; then its parts must not be restored.
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

    /// Decodes the content of an entry, and verifies that it matches the digest of the parts that were read.
    init(_ bytes: [UInt8], of digest: BackupDigest) throws(RecordDamage) {
        self.init(digest)
        var reader = ByteReader(bytes[...])
        guard try reader.fixed(UInt64.self) == UInt64(parts) else { throw RecordDamage("counts other parts") }
        for byte in self.digest { guard try reader.byte() == byte else { throw RecordDamage("is of other parts") } }
        let state = try reader.byte()
        isDamaged = state == 1
        if state == 2 { problem = try reader.text() }
        guard state <= 2, reader.isAtEnd else { throw RecordDamage("has an unknown state") }
    }
}

/// The results of all stores, written at the end of a backup.
struct BackupEnd: Codable {
    var stores: [Store]

    struct Store: Codable {
        var kind: String
        var scope: String
        var parts: Int
        var bytes: Int
        /// The SHA-256 digest in hexadecimal.
        var digest: String
        /// Whether a program that does not take the store's lock changed the store while the stores were copied.
        var foreign: Bool
        /// Whether the store changed after it was copied and before the backup ended.
        var older: Bool
        /// Whether the store was damaged and its file was copied unchanged.
        var damaged: Bool
        /// The error code if the store could not be read; omitted for every other store.
        var problem: String?
    }
}

/// The keys of one key source. A key source is the location of encryption keys, such as a keyring item or a key file.
/// The content also has the source's kind, service and name, each with its length. Each key has 32 bytes. The first one
/// encrypts (seals) new values.
struct BackupSourceKeys: Sendable {
    let reference: KeySourceReference
    let keys: SourceKeys

    /// The ids of the keys.
    var ids: [[UInt8]] { keys.all.map(\.id) }

    /// The content of the entry. It contains the keys, so the caller must wipe it.
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

/// Computes the digest of a store's content: SHA-256 over its parts, each with its length.
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
