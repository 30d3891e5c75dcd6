import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Sealing

/// The entries of a backup, inside the sealed stream: a byte for the type, a counted content.
enum KitEntry: UInt8 {
    /// JSON: ``KitManifest``. The first entry.
    case manifest = 1
    /// A sealing key: ``KitKey``.
    case key = 2
    /// A store begins: counted kind, counted scope.
    case store = 3
    /// A part of the store's content.
    case part = 4
    /// The store ends: the number of its parts (8 bytes), and SHA-256 of the parts, each counted.
    case storeEnd = 5
    /// JSON: ``KitEnd``. The last entry.
    case end = 6
}

/// What a backup is of.
struct KitManifest: Codable {
    var application: String
    var context: String
    /// Seconds since 1970.
    var created: Double
    var stores: [Name]
    var omitted: [String]

    struct Name: Codable, Hashable {
        var kind: String
        var scope: String
    }
}

/// What was known when all stores were written.
struct KitEnd: Codable {
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
    }
}

/// A sealing key and where it was kept: counted form, service, name, and the 32 bytes of the key.
struct KitKey: Sendable {
    let reference: KeySourceReference
    let key: SealingKey

    /// The entry's content, which the caller wipes.
    var content: [UInt8] {
        let (form, service, name): (String, String?, String) =
            switch reference.form {
            case .configured: ("configured", nil, "")
            case .keyring(let service, let name): ("keyring", service, name)
            case .keyFile(let path): ("keyFile", nil, path)
            case .credential(let name): ("credential", nil, name)
            case .passphrase(let name): ("passphrase", nil, name)
            case .custom(let name): ("custom", nil, name)
            }
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(48 + form.utf8.count + (service ?? "").utf8.count + name.utf8.count)
        writer.counted(form.utf8)
        writer.counted((service ?? "").utf8)
        writer.counted(name.utf8)
        key.key.withUnsafeBytes { writer.counted($0) }
        return writer.bytes
    }

    init(_ reference: KeySourceReference, _ key: SealingKey) { (self.reference, self.key) = (reference, key) }

    init(content: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(content[...])
        let form = try reader.text()
        let service = try reader.text()
        let name = try reader.text()
        var bytes = try reader.counted()
        defer { wipe(&bytes) }
        guard bytes.count == SealingKey.keyLength, reader.isAtEnd else { throw RecordDamage("is not a key") }
        switch form {
        case "keyring": reference = .keyring(service: service.isEmpty ? nil : service, name: name)
        case "keyFile": reference = .keyFile(name)
        case "credential": reference = .credential(name)
        case "passphrase": reference = .passphrase(name)
        case "custom": reference = .custom(name)
        default: throw RecordDamage("is of an unknown source")
        }
        key = SealingKey(key: SymmetricKey(data: bytes))
    }
}

/// The digest of a store's content: SHA-256 of its parts, each counted.
struct KitDigest {
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
