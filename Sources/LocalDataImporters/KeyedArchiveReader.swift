import BackendContract
import DefaultsBackend
import Foundation
import LocalData

/// Reads a keyed archive from an untrusted source.
///
/// An archive is a property list with the entries `$archiver`, `$version`, `$objects` (a list of all objects) and `$top` (the
/// outermost values, by name). An object refers to another one by its index in the list. An object of a class is a dictionary:
/// its entry `$class` refers to a dictionary with the name of the class and of its superclasses.
/// Reason: "Keyed archives are read without classes" in Docs/Decisions/Stores.md.
struct KeyedArchiveReader {
    /// The maximum depth of nesting. It is that of native values.
    private static let maximumDepth = 64
    /// The largest size to which an archive may expand, in estimated bytes.
    private static let largestExpansion = 256 << 20

    /// A value that was read, with its size in estimated bytes, and the number of levels below it.
    private struct Known {
        var value: DocumentValue
        var size = 64
        var height = 0
    }

    private let objects: [NativeValue]
    /// How large all values may be together, in estimated bytes. Many references can lead to one object.
    private let allowance: Int
    /// The objects that were read. An object that several others refer to is read once.
    private var known: [Int: Known] = [:]
    /// The objects that are being read. A reference to one of them is a cycle.
    private var open: Set<Int> = []

    /// Returns the outermost values of an archive, by their names.
    static func read(_ bytes: [UInt8]) throws(PropertyListFault) -> [String: DocumentValue] {
        let entries = try PropertyListReader.read(bytes, keepsReferences: true)
        guard case .string(let archiver)? = entries["$archiver"], case .integer(let version)? = entries["$version"],
            case .array(let objects)? = entries["$objects"], case .dictionary(let top)? = entries["$top"]
        else { throw .damaged("the property list is no keyed archive") }
        guard archiver == "NSKeyedArchiver", version == 100_000 else {
            throw .unsupported("it is a keyed archive of a kind that is not known here")
        }
        let allowance = min(128 * bytes.count + 16 << 20, largestExpansion)
        var reader = KeyedArchiveReader(objects: objects, allowance: allowance)
        return try reader.fields(top, depth: 0).value.object ?? [:]
    }

    private init(objects: [NativeValue], allowance: Int) { (self.objects, self.allowance) = (objects, allowance) }

    // MARK: References

    /// Returns the index in a reference; nil for another value.
    private static func reference(_ value: NativeValue?) throws(PropertyListFault) -> Int? {
        guard case .dictionary(let entries)? = value, entries.count == 1, let number = entries[PropertyListReader.referenceName] else {
            return nil
        }
        guard case .integer(let number) = number, let index = Int(exactly: number), index >= 0 else {
            throw .damaged("a reference is no index of an object")
        }
        return index
    }

    /// Reads a value that is stored in another one: a reference, or a value without a class.
    private mutating func field(_ value: NativeValue, depth: Int) throws(PropertyListFault) -> Known {
        if let index = try Self.reference(value) { return try object(index, depth: depth) }
        switch value {
        case .array(let elements): return try list(elements, depth: depth)
        case .dictionary(let entries): return try fields(entries, depth: depth)
        default: return Self.scalar(value)
        }
    }

    /// Reads an object of the archive.
    private mutating func object(_ index: Int, depth: Int) throws(PropertyListFault) -> Known {
        guard index < objects.count else { throw .damaged("a reference leads to no object") }
        if let object = known[index] {
            guard depth + object.height < Self.maximumDepth else { throw Self.tooDeep }
            return object
        }
        guard depth < Self.maximumDepth else { throw Self.tooDeep }
        guard open.insert(index).inserted else { throw .unsupported("its objects contain each other") }
        defer { open.remove(index) }
        let object: Known
        switch objects[index] {
        case .string("$null"): object = Known(value: .null)
        case .dictionary(let fields): object = try self.object(fields, depth: depth)
        case .array: throw .damaged("an object has no class")
        case let value: object = Self.scalar(value)
        }
        known[index] = object
        return object
    }

    private static var tooDeep: PropertyListFault { .unsupported("its objects are nested too deeply") }

    // MARK: Classes

    private mutating func object(_ fields: [String: NativeValue], depth: Int) throws(PropertyListFault) -> Known {
        let (name, ancestors) = try classes(fields["$class"])
        for ancestor in [name] + ancestors {
            switch ancestor {
            case "NSNull": return Known(value: .null)
            case "NSString": return try text(fields)
            case "NSData": return try data(fields)
            case "NSDate": return try date(fields)
            case "NSUUID": return try uuid(fields)
            case "NSURL": return try url(fields, depth: depth)
            case "NSCountedSet": break
            case "NSArray", "NSSet", "NSOrderedSet": return try list(members(fields, "NS.objects", "NS.object."), depth: depth)
            case "NSDictionary": return try dictionary(fields, depth: depth)
            default: continue
            }
            break
        }
        var own = fields
        own["$class"] = .string(name)
        return try self.fields(own, depth: depth)
    }

    /// Returns the name of an object's class, and the names of its superclasses.
    private func classes(_ reference: NativeValue?) throws(PropertyListFault) -> (String, [String]) {
        guard let index = try Self.reference(reference), index < objects.count, case .dictionary(let entries) = objects[index],
            case .string(let name)? = entries["$classname"]
        else { throw .damaged("an object has no class") }
        guard case .array(let ancestors)? = entries["$classes"] else { return (name, []) }
        // No class of Foundation has more superclasses. The limit keeps the time proportional to the size of the archive.
        return (name, ancestors.prefix(32).compactMap { if case .string(let ancestor) = $0 { ancestor } else { nil } })
    }

    private func text(_ fields: [String: NativeValue]) throws(PropertyListFault) -> Known {
        switch fields["NS.string"] ?? fields["NS.bytes"] {
        case .string(let text)?: return Self.scalar(.string(text))
        case .data(let bytes)?:
            guard let text = String(validating: bytes, as: UTF8.self) else { throw .unsupported("it holds a text that is not Unicode") }
            return Self.scalar(.string(text))
        default: throw .damaged("a text has no content")
        }
    }

    private func data(_ fields: [String: NativeValue]) throws(PropertyListFault) -> Known {
        guard case .data(let bytes)? = fields["NS.data"] ?? fields["NS.bytes"] else { throw .damaged("an object of data has no content") }
        return Self.scalar(.data(bytes))
    }

    private func date(_ fields: [String: NativeValue]) throws(PropertyListFault) -> Known {
        switch fields["NS.time"] {
        case .real(let seconds)? where seconds.isFinite: return Self.scalar(.date(seconds))
        case .integer(let seconds)?: return Self.scalar(.date(Double(seconds)))
        default: throw .damaged("a date has no time")
        }
    }

    private func uuid(_ fields: [String: NativeValue]) throws(PropertyListFault) -> Known {
        guard case .data(let bytes)? = fields["NS.uuidbytes"], bytes.count == 16 else { throw .damaged("a UUID has no 16 bytes") }
        return Self.scalar(.string(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString))
    }

    private mutating func url(_ fields: [String: NativeValue], depth: Int) throws(PropertyListFault) -> Known {
        guard let relative = fields["NS.relative"], case .string(let text) = try field(relative, depth: depth + 1).value else {
            throw .damaged("a URL has no text")
        }
        guard let base = fields["NS.base"] else { return Self.scalar(.string(text)) }
        switch try field(base, depth: depth + 1).value {
        case .null: return Self.scalar(.string(text))
        case .string(let base):
            guard let absolute = URL(string: text, relativeTo: URL(string: base))?.absoluteString else {
                throw .unsupported("it holds a URL that is not known here")
            }
            return Self.scalar(.string(absolute))
        default: throw .damaged("the base of a URL is no URL")
        }
    }

    // MARK: Lists and dictionaries

    /// Returns the members of a collection: a list, or in the format of subclasses one entry for each member.
    private func members(_ fields: [String: NativeValue], _ all: String, _ each: String) throws(PropertyListFault) -> [NativeValue] {
        if case .array(let members)? = fields[all] { return members }
        guard fields[all] == nil else { throw .damaged("a collection has no members") }
        var members: [NativeValue] = []
        while let member = fields["\(each)\(members.count)"] { members.append(member) }
        return members
    }

    private mutating func list(_ members: [NativeValue], depth: Int) throws(PropertyListFault) -> Known {
        var (elements, sum): ([DocumentValue], Known) = ([], Known(value: .null))
        for member in members {
            elements.append(try field(member, depth: depth + 1, of: &sum))
        }
        sum.value = .array(elements)
        return sum
    }

    private mutating func dictionary(_ fields: [String: NativeValue], depth: Int) throws(PropertyListFault) -> Known {
        let names = try members(fields, "NS.keys", "NS.key.")
        let values = try members(fields, "NS.objects", "NS.object.")
        guard names.count == values.count else { throw .damaged("a dictionary has not one value for each name") }
        var (entries, sum): ([String: DocumentValue], Known) = ([:], Known(value: .null))
        for (name, value) in zip(names, values) {
            let name: String =
                switch try field(name, depth: depth + 1, of: &sum) {
                case .string(let text): text
                // A dictionary of Swift with integers as keys is encoded with their decimal texts.
                case .integer(let number): String(number)
                case .unsigned(let number): String(number)
                default: throw .unsupported("it has an entry whose name is not a text")
                }
            // Canonically equivalent names count as equal here.
            guard entries.updateValue(try field(value, depth: depth + 1, of: &sum), forKey: name) == nil else {
                throw .damaged("a dictionary names an entry twice")
            }
        }
        sum.value = .object(entries)
        return sum
    }

    /// Reads the properties of an object.
    private mutating func fields(_ fields: [String: NativeValue], depth: Int) throws(PropertyListFault) -> Known {
        guard depth < Self.maximumDepth else { throw Self.tooDeep }
        var (entries, sum): ([String: DocumentValue], Known) = ([:], Known(value: .null))
        for (name, value) in fields {
            sum.size += name.utf8.count
            entries[name] = try field(value, depth: depth + 1, of: &sum)
        }
        sum.value = .object(entries)
        return sum
    }

    /// Reads a value that is stored in another one, and adds its size and height to those of the other one.
    private mutating func field(_ value: NativeValue, depth: Int, of sum: inout Known) throws(PropertyListFault) -> DocumentValue {
        guard depth < Self.maximumDepth else { throw Self.tooDeep }
        let field = try field(value, depth: depth)
        // Both numbers are at most the allowance, so the sum does not overflow.
        sum.size += field.size
        guard sum.size <= allowance else { throw .unsupported("it expands to far more values than it contains") }
        sum.height = max(sum.height, field.height + 1)
        return field.value
    }

    /// Returns a value that contains no others.
    private static func scalar(_ value: NativeValue) -> Known {
        Known(value: DocumentValue(value), size: 64 + StoragePayload.native(value).byteCount)
    }
}

/// Nulls, which a property list cannot hold.
enum ArchivedNull {
    /// Returns a native value for a value of an archive; nil for a null. A null in an object is left out.
    /// - Throws: `unsupported` for a null in a list, because the positions of the other elements would change.
    static func leavingOut(of value: DocumentValue) throws(PropertyListFault) -> NativeValue? {
        switch value {
        case .null: return nil
        case .boolean(let flag): return .boolean(flag)
        case .integer(let number): return .integer(number)
        case .unsigned(let number): return .unsigned(number)
        case .real(let number): return .real(number)
        case .decimal: throw .unsupported("it holds a number that property lists do not have")
        case .string(let text): return .string(text)
        case .data(let bytes): return .data([UInt8](bytes))
        case .date(let date): return .date(date.timeIntervalSinceReferenceDate)
        case .array(let elements):
            var values: [NativeValue] = []
            for element in elements {
                guard let value = try leavingOut(of: element) else { throw .unsupported("it holds a list with a null") }
                values.append(value)
            }
            return .array(values)
        case .object(let properties):
            var entries: [String: NativeValue] = [:]
            for (name, property) in properties { entries[name] = try leavingOut(of: property) }
            return .dictionary(entries)
        }
    }
}
