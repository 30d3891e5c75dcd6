import Foundation
import LocalData
import LocalDataTesting

/// The draft of a step: suggested lines of code, and the value that they make of a sample. A person completes both.
struct StepDraft {
    private let parts: [SchemaChange.Part]

    init(_ changes: [SchemaChange]) { parts = changes.map(\.part) }

    /// The suggested lines of code.
    var lines: [String] { parts.flatMap(lines) }

    private func lines(_ part: SchemaChange.Part) -> [String] {
        switch part {
        case .missing(let way, let type):
            guard isOwn(way) else { return ["// Add \(SwiftText.line("\(way), which is \(type)"))."] }
            return ["document.add(\(SwiftText.literal(way)), default: \(Sample(type).code))"]
        case .retyped(let way, let type): return [conversion(of: way, to: type)]
        case .renamed(let way, let name, let type):
            return ["document.rename(\(SwiftText.literal(way)), to: \(SwiftText.literal(name)))", conversion(of: name, to: type)]
        case .removed(let way): return isOwn(way) ? ["document.remove(\(SwiftText.literal(way)))"] : []
        case .other: return []
        }
    }

    private func conversion(of way: String, to type: String) -> String {
        let sample = Sample(type)
        let path = way == SchemaChange.wholeValue ? ".root" : SwiftText.literal(way)
        guard isOwn(way) || way == SchemaChange.wholeValue else { return "// Convert \(SwiftText.line("\(way) to \(type)"))." }
        if sample.type != nil { return "try document.convert(\(path), to: .\(type))" }
        return way == SchemaChange.wholeValue ? "document.root = \(sample.code)" : "document[\(path)] = \(sample.code)"
    }

    /// Returns the value that the suggested lines make of a document.
    func applied(to document: StoredDocument) -> StoredDocument {
        var document = document
        for part in parts {
            switch part {
            case .missing(let way, let type) where isOwn(way): document.add(DocumentPath(way), default: Sample(type).value)
            case .retyped(let way, let type): convert(way, to: type, in: &document)
            case .renamed(let way, let name, let type) where isOwn(way) && isOwn(name):
                document.rename(DocumentPath(way), to: DocumentPath(name))
                convert(name, to: type, in: &document)
            case .removed(let way) where isOwn(way): document.remove(DocumentPath(way))
            default: break
            }
        }
        return document
    }

    private func convert(_ way: String, to type: String, in document: inout StoredDocument) {
        guard isOwn(way) || way == SchemaChange.wholeValue else { return }
        let path = way == SchemaChange.wholeValue ? DocumentPath.root : DocumentPath(way)
        let sample = Sample(type)
        document.update(path) { value in sample.type?.converted(value) ?? sample.value }
    }

    /// Whether a property belongs to the stored type, and not to a type inside it.
    private func isOwn(_ way: String) -> Bool {
        !way.isEmpty && way != SchemaChange.wholeValue && !way.contains { ".[{".contains($0) }
    }
}

/// A sample of a type that a snapshot names.
private struct Sample {
    /// The type, if values can be converted to it.
    let type: AttributeType?
    let value: DocumentValue
    /// The value as code.
    let code: String

    init(_ name: String) {
        (type, value, code) =
            switch name {
            case "string": (.string, "1", "\"1\"")
            case "boolean": (.boolean, true, "true")
            case "integer": (.integer, 1, "1")
            case "double": (.double, 1.5, "1.5")
            case "decimal": (.decimal, 1.5, "1.5")
            case "date": (.date, 700_000_000, "700_000_000")
            case "data": (.data, "ZGF0YQ==", "\"ZGF0YQ==\"")
            case "uuid": (.uuid, "00000000-0000-4000-8000-000000000001", "\"00000000-0000-4000-8000-000000000001\"")
            case _ where name.hasPrefix("array of "): (nil, [], "[]")
            case "object": (nil, .object([:]), "[:]")
            case _ where name.hasPrefix("dictionary of "): (nil, .object([:]), "[:]")
            default: (nil, .null, "nil")
            }
    }
}
