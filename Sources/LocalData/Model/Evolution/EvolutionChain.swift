import Crypto
public import Foundation
import Sealing

/// What a step is told about the record that it changes.
///
/// A step may run again after a crash, on the same record: what it needs to invent, it derives from ``identity``.
public struct EvolutionContext: Hashable, Sendable {
    /// The name of the key or collection.
    public let entity: String
    /// The id of the record in its collection; for a key, its name.
    public let record: String
    /// The version that the record was stored with.
    public let storedVersion: Int
    /// The version that the step leads to.
    public let targetVersion: Int

    /// An identifier that belongs to the record: the same in every run, and another for every record of every entity. A UUID of version 8 (RFC 9562) made of the
    /// SHA-256 of both names.
    public var identity: UUID {
        var fields = Fields("LocalData record identity")
        fields.add(entity)
        fields.add(record)
        var bytes = Array(SHA256.hash(data: fields.bytes).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// One step of a chain: from some version to a later one.
public struct EvolutionStep: Sendable {
    /// What part a step plays.
    package enum Role: Sendable {
        /// A link of the chain: exactly one leaves each version.
        case link
        /// A shorter way beside the chain.
        case shortcut

        var rank: Int { self == .shortcut ? 1 : 0 }
    }

    /// The versions that the step begins at.
    public let from: ClosedRange<Int>
    /// The version that it leads to.
    public let to: Int
    package let role: Role
    let apply: Change

    /// What a step does to a value.
    package typealias Change = @Sendable (inout EvolvingValue, EvolutionContext) throws -> Void

    /// Describes a step by what it does to a document: for plans that are made at run time. ``Evolution`` builds the same more briefly.
    /// - Parameters:
    ///   - from: The version that the step begins at.
    ///   - to: The version that it leads to.
    ///   - body: Changes the document.
    public init(from: Int, to: Int, _ body: @escaping @Sendable (inout StoredDocument, EvolutionContext) throws -> Void) {
        self.init(from: from...from, to: to, role: .link, apply: Self.change(body))
    }

    package init(from: ClosedRange<Int>, to: Int, role: Role, apply: @escaping Change) {
        self.from = from
        self.to = to
        self.role = role
        self.apply = apply
    }

    /// A change of a document.
    static func change(_ body: @escaping @Sendable (inout StoredDocument, EvolutionContext) throws -> Void) -> Change {
        { value, context in try value.changeDocument { try body(&$0, context) } }
    }
}

/// A value on its way through the steps: as bytes, as a document or as one of its types, and no further from the one to the other than a step asks.
package struct EvolvingValue: Sendable {
    enum Form: Sendable {
        case bytes(Data, DocumentFormat)
        case document(StoredDocument)
        case value(any Codable & Sendable)
    }

    private(set) var form: Form

    /// How a Swift value becomes a document: a property list tells data and dates from texts and numbers, JSON does not.
    private let format: DocumentFormat

    init(_ form: Form, as format: DocumentFormat = .json) {
        self.form = form
        self.format = format
    }

    func document() throws -> StoredDocument {
        switch form {
        case .document(let document): document
        case .bytes(let bytes, let format): try format.decode(StoredDocument.self, bytes)
        case .value(let value): try format.decode(StoredDocument.self, try format.encode(value))
        }
    }

    /// The bytes of the value in a format.
    func encoded(_ format: DocumentFormat) throws -> Data {
        switch form {
        case .bytes(let bytes, let own) where own == format: bytes
        case .value(let value): try format.encode(value)
        default: try format.encode(try document())
        }
    }

    package mutating func changeDocument(_ change: (inout StoredDocument) throws -> Void) throws {
        var document = try document()
        // Let go of the old form first: the document is changed where it is.
        form = .document(StoredDocument(.null))
        try change(&document)
        form = .document(document)
    }

    mutating func replace<Value: Codable & Sendable>(with value: Value) { form = .value(value) }

    func decoded<Value: Codable & Sendable>(_ type: Value.Type) throws -> Value {
        switch form {
        case .value(let value as Value): value
        case .bytes(let bytes, let format): try format.decode(type, bytes)
        default: try document().decode(type)
        }
    }
}

/// The chain of versions of one entity, whatever it was written with.
package struct EvolutionChain: Sendable {
    /// The version of what carries none, and the earliest that can be read.
    let base: Int
    package var steps: [EvolutionStep] = []
    /// The version that the chain ends in.
    package var version: Int
    /// Whether the bytes of a record are kept before its first step.
    var keepsBackup = false

    package init(base: Int) {
        self.base = base
        version = base
    }

    /// What makes the plan unusable, naming the place; nil for a sound one.
    package var problem: String? {
        var next: [Int: Int] = [:]
        for step in steps where step.role == .link {
            if step.from.upperBound >= step.to {
                return "the step from version \(step.from.upperBound) leads to \(step.to): a circle. Steps lead to later versions"
            }
            for version in step.from {
                if let other = next.updateValue(step.to, forKey: version) {
                    return "two steps leave version \(version), to \(other) and to \(step.to). Give one of them up, or make it a shortcut"
                }
            }
        }
        for step in steps where step.role == .shortcut && step.from.upperBound >= step.to {
            return "the shortcut from version \(step.from.upperBound) leads to \(step.to): a circle"
        }
        if known.contains(where: { $0 < base }) { return "a step begins before version \(base), which the chain begins with" }
        if known.contains(where: { $0 > version }) { return "a step goes beyond version \(version), which the chain ends in" }
        for version in known where version != self.version {
            guard let way = way(from: version), way.last?.to == self.version else {
                let gap = way(from: version)?.last?.to ?? version
                return "no step leaves version \(gap), and the chain ends in \(self.version): a gap"
            }
        }
        return nil
    }

    /// Every version that a step begins or ends at.
    var known: Set<Int> { Set(steps.flatMap { Array($0.from) + [$0.to] } + [base, version]) }

    /// The versions that a stored record may have and does not keep.
    var older: [Int] { known.filter { $0 < version }.sorted() }

    /// The steps from a version to the chain's end, the longest ones first where there is a choice; as far as they lead.
    func way(from start: Int) -> [EvolutionStep]? {
        var way: [EvolutionStep] = []
        var version = start
        while version < self.version, way.count <= steps.count {
            let candidates = steps.filter { $0.from.contains(version) && $0.to <= self.version && $0.to > version }
            // Of two that lead equally far, the one beside the chain was meant.
            guard let step = candidates.max(by: { ($0.to, $0.role.rank) < ($1.to, $1.role.rank) }) else { return way.isEmpty ? nil : way }
            way.append(step)
            version = step.to
        }
        return way
    }

    /// Brings a value from the version it was stored with to the chain's end.
    func evolve(_ value: inout EvolvingValue, from stored: Int, entity: String, record: String) throws {
        for step in way(from: stored) ?? [] {
            try step.apply(&value, EvolutionContext(entity: entity, record: record, storedVersion: stored, targetVersion: step.to))
        }
    }
}
