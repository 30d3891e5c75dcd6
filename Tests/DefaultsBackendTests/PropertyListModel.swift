import BackendContract
import Foundation
import TestSupport

@testable import DefaultsBackend

/// A change of a property list, by this store or by another program.
enum ListChange: Sendable {
    case put(StorageAddress, StoragePayload, StorageMetadata)
    case tombstone(StorageAddress, StorageMetadata)
    case delete(StorageAddress)
    /// Another program writes a value through Foundation, or removes it if the value is `nil`.
    case foreign(String, NativeValue?)
    /// The list is encoded to a file, and the file is read back.
    case rewrite

    /// A description of the whole change. Payloads redact themselves in their standard descriptions.
    var spelledOut: String {
        switch self {
        case .put(let address, let payload, let metadata): "put \(address): \(payload.canonicalBytes), \(metadata)"
        case .tombstone(let address, let metadata): "writeTombstone \(address): \(metadata)"
        case .delete(let address): "delete \(address)"
        case .foreign(let name, let value): "foreign \(name): \(value.map { "\($0.canonicalBytes)" } ?? "removed")"
        case .rewrite: "rewrite"
        }
    }
}

/// Predicts the content of a property list after some changes.
/// It implements the description of the format without using the code under test.
struct PropertyListModel {
    /// The metadata that the list keeps for a name, next to the value in the file.
    enum Known {
        case value(NativeValue, StorageRecord)
        case tombstone(StorageTombstone)
    }

    struct Slot {
        var value: NativeValue?
        var known: Known?
    }

    private(set) var slots: [StorageAddress: Slot] = [:]

    /// Models a write by this store. `value` is the entry that the file then contains for the record.
    mutating func put(_ record: StorageRecord, as value: NativeValue, at address: StorageAddress) {
        slots[address] = Slot(value: value, known: .value(value, record))
    }

    mutating func writeTombstone(_ tombstone: StorageTombstone, at address: StorageAddress) {
        slots[address] = Slot(known: .tombstone(tombstone))
    }
    mutating func remove(_ address: StorageAddress) { slots[address] = nil }

    /// Models a write by another program, which does not update the metadata.
    mutating func foreign(_ value: NativeValue?, at address: StorageAddress) {
        slots[address, default: Slot()].value = value
        // The metadata of a removed value is dropped. A tombstone is kept.
        if value == nil, case .tombstone? = slots[address]?.known { return }
        if value == nil { slots[address] = nil }
    }

    /// Returns the expected result of a read, as a text that shows every difference.
    func probe(_ address: StorageAddress) -> String {
        guard let slot = slots[address] else { return "absent" }
        switch (slot.value, slot.known) {
        case (nil, .tombstone(let tombstone)): return Self.text(.tombstone(tombstone))
        case (let value?, .value(let written, let record)) where value.canonicalBytes == written.canonicalBytes:
            return Self.text(.value(record))
        case (let value?, _): return "foreign \(value.canonicalBytes)"
        case (nil, _): return "absent"
        }
    }

    static func text(_ probe: StorageProbe) -> String {
        switch probe {
        case .value(let record) where record.isForeign: "foreign \(record.payload.canonicalBytes)"
        case .value(let record): "value \(RecordCodec.encode(record))"
        case .tombstone(let tombstone): "tombstone \(RecordCodec.encode(tombstone))"
        default: "\(probe)"
        }
    }
}

/// Reads and writes property lists with Foundation, as other programs do.
enum FoundationList {
    static func read(_ bytes: [UInt8]) throws -> [String: Any] {
        guard let entries = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? [String: Any] else {
            throw Broken("Foundation reads no dictionary")
        }
        return entries
    }

    static func write(_ entries: [String: Any], _ format: PropertyListSerialization.PropertyListFormat) throws -> [UInt8] {
        [UInt8](try PropertyListSerialization.data(fromPropertyList: entries, format: format, options: 0))
    }

    static func object(_ value: NativeValue) -> Any {
        switch value {
        case .string(let text): text
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .boolean(let flag): flag
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .data(let bytes): Data(bytes)
        case .array(let elements): elements.map(object)
        case .dictionary(let entries): entries.mapValues(object)
        }
    }

    /// Converts a value that Foundation decoded.
    static func native(_ object: Any) throws -> NativeValue {
        switch object {
        case let text as String: return .string(text)
        case let entries as [String: Any]: return .dictionary(try entries.mapValues(native))
        case let elements as [Any]: return .array(try elements.map(native))
        case let bytes as Data: return .data([UInt8](bytes))
        case let date as Date: return .date(date.timeIntervalSinceReferenceDate)
        case let number as NSNumber:
            if type(of: object) == Bool.self { return .boolean(number.boolValue) }
            switch UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "d"), UInt8(ascii: "f"): return .real(number.doubleValue)
            case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): return .unsigned(number.uint64Value)
            default: return .integer(number.int64Value)
            }
        default: throw Broken("Foundation gave a \(type(of: object))")
        }
    }

}
