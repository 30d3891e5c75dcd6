import BackendContract
import Foundation

/// The keys in etcd of the slots of one store: `<prefix>/s/<context>/<namespace>/<name>`.
///
/// Letters and digits of ASCII and the characters `-._~` stand for themselves in the last three parts. Every other byte is written as `%`
/// and two hexadecimal digits. Two slots therefore never have the same key, and no part contains a slash.
struct SlotKeys: Sendable {
    /// A range of keys. It does not contain `end`.
    struct KeyRange: Sendable {
        let start: Data
        let end: Data
    }

    private let root: String

    init(prefix: String, context: String) { root = "\(prefix)/s/\(Self.encoded(context))/" }

    /// Returns the key of a slot.
    func key(_ address: StorageAddress) -> Data {
        Data("\(root)\(Self.encoded(address.namespace.name))/\(Self.encoded(address.name))".utf8)
    }

    /// The keys of all slots of the store.
    var all: KeyRange { Self.range(of: root) }

    /// Returns the keys of a namespace.
    func range(of namespace: StorageNamespace) -> KeyRange { Self.range(of: "\(root)\(Self.encoded(namespace.name))/") }

    /// Returns the slot of a key; nil if the store does not write such a key.
    func address(_ key: Data) -> StorageAddress? {
        guard let text = String(validating: key, as: UTF8.self), text.hasPrefix(root) else { return nil }
        let parts = text.dropFirst(root.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let namespace = Self.decoded(parts[0]), let name = Self.decoded(parts[1]) else { return nil }
        let address = StorageAddress(name, in: StorageNamespace(namespace))
        guard self.key(address) == key, (try? address.validate()) != nil else { return nil }
        return address
    }

    /// The keys that begin with a text, which ends with a slash. The character `0` follows the slash.
    private static func range(of text: String) -> KeyRange {
        var end = Data(text.utf8)
        end[end.count - 1] = UInt8(ascii: "0")
        return KeyRange(start: Data(text.utf8), end: end)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digits.firstIndex(of:)), let low = rest.popFirst().flatMap(digits.firstIndex(of:))
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// The revisions of slots. A revision consists of the number of the cluster's change that wrote the slot, and a hash of the slot's key.
///
/// All slots that one transaction writes have the same number. The hash distinguishes their revisions.
enum SlotRevision {
    /// Returns the revision of a slot.
    /// - Parameters:
    ///   - number: The `mod_revision` of the key.
    ///   - key: The key of the slot.
    static func revision(_ number: Int64, of key: Data) -> StorageRevision {
        StorageRevision(bytes(UInt64(bitPattern: number)) + bytes(hash(key)))
    }

    /// Returns the number in a revision; nil if it is not a revision of this slot.
    static func number(_ revision: StorageRevision, of key: Data) -> Int64? {
        guard revision.bytes.count == 16, Array(revision.bytes[8...]) == bytes(hash(key)) else { return nil }
        let number = revision.bytes[..<8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return number == 0 ? nil : Int64(bitPattern: number)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    /// FNV-1a with 64 bits.
    private static func hash(_ key: Data) -> UInt64 { key.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
}
