import Foundation
import LocalData

@testable import BackendContract
@testable import DefaultsBackend
@testable import LocalDataImporters

/// The fuzz target for keyed archives, the property lists that `NSKeyedArchiver` writes.
extension FuzzTarget {
    static let keyedArchives: [FuzzTarget] = [
        FuzzTarget(name: "keyed-archives", seeds: { KeyedArchiveSeeds.all }) { (bytes) throws(BrokenPromise) in
            let answer = try steady(bytes) { bytes -> Answer in
                do throws(PropertyListFault) {
                    // Compare bytes, because a number that is NaN is not equal to itself.
                    return .values(try KeyedArchiveReader.read(bytes).mapValues(canonicalBytes))
                } catch {
                    switch error {
                    case .damaged(let how): return .damaged(how)
                    case .unsupported(let why): return .unsupported(why)
                    }
                }
            }
            switch answer {
            // A list can be damaged in several ways, and the order of a dictionary decides which one the reader meets first.
            case .damaged(let reason), .unsupported(let reason):
                try promise(reason.utf8.count < 80, "a reason is too long to hold none of the content")
            case .values:
                for (name, value) in (try? KeyedArchiveReader.read(bytes)) ?? [:] {
                    guard let native = try? ArchivedNull.leavingOut(of: value) else { continue }
                    try promise(!native.isNested(deeperThan: NativeValue.maximumDepth), "\(name.utf8.count) bytes: nested too deeply")
                }
            }
        }
    ]

    private enum Answer: Equatable {
        case values([String: [UInt8]])
        case damaged(String)
        case unsupported(String)

        /// Whether two reads have the same result. The order of a dictionary decides which fault a reader meets first.
        static func == (left: Self, right: Self) -> Bool {
            switch (left, right) {
            case (.values(let left), .values(let right)): left == right
            case (.damaged, .damaged), (.unsupported, .unsupported), (.damaged, .unsupported), (.unsupported, .damaged): true
            default: false
            }
        }
    }

    /// Returns bytes that differ for different values.
    private static func canonicalBytes(_ value: DocumentValue) -> [UInt8] {
        switch value {
        case .null: return [0]
        case .array(let elements):
            var bytes: [UInt8] = [1] + UInt64(elements.count).bytes
            for element in elements { bytes += canonicalBytes(element) }
            return bytes
        case .object(let properties):
            var bytes: [UInt8] = [2] + UInt64(properties.count).bytes
            for (name, property) in properties.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                bytes += name.utf8
                bytes.append(0xFF)
                bytes += canonicalBytes(property)
            }
            return bytes
        default:
            guard let native = try? ArchivedNull.leavingOut(of: value) else { return [3] }
            return [4] + native.canonicalBytes
        }
    }
}

extension UInt64 {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian, Array.init) }
}

/// Archives that Foundation writes.
enum KeyedArchiveSeeds {
    static let all: [[UInt8]] = [PropertyListSerialization.PropertyListFormat.binary, .xml].flatMap { format in
        roots.map { root in
            let archiver = NSKeyedArchiver(requiringSecureCoding: false)
            archiver.outputFormat = format
            archiver.encode(root, forKey: "root")
            archiver.finishEncoding()
            return [UInt8](archiver.encodedData)
        }
    }

    private static var roots: [NSObject] {
        [
            NSString(string: "text"), NSNumber(value: 2.5), NSDate(timeIntervalSinceReferenceDate: 5), NSArray(array: ["a", ["b"]]),
            NSDictionary(dictionary: ["a": NSNull(), "b": NSSet(array: ["c"])]), NSData(bytes: [1, 2] as [UInt8], length: 2),
        ]
    }
}
