import Crypto
public import Foundation
import Sealing

/// The record that a step changes: its name, its stored version, and an identifier that is the same in every run.
///
/// A step may run again after a crash, on the same record. If it needs a new identifier, it must derive it from
/// ``identity``.
///
/// ```swift
/// let chain = Evolution.from(version: 1).to { document, context in
///     // A step may run again on the same record. A random identifier would differ in each run.
///     document["id"] = .string(context.identity.uuidString)
///     document["importedFrom"] = .string("\(context.entity), version \(context.storedVersion)")
/// }
/// ```
public struct EvolutionContext: Hashable, Sendable {
    /// The name of the key or collection.
    public let entity: String
    /// The id of the record in its collection; for a key, its name.
    public let record: String
    /// The version with which the record was stored.
    public let storedVersion: Int
    /// The version after the step.
    public let targetVersion: Int

    /// An identifier of the record. It is the same in every run, and different for every record of every entity. It is
    /// a UUID of version 8 (RFC 9562), derived from the SHA-256 of ``entity`` and ``record``.
    ///
    /// ```swift
    /// let chain = Evolution.from(version: 1)
    ///     .to { document, context in document["token"] = .string(context.identity.uuidString) }
    /// ```
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

/// One step of a chain of versions, which converts a value from one version to a later one.
///
/// Use it for chains that are assembled at run time, with `Evolution.steps(_:from:to:)`. For chains that are known at
/// compile time, ``Evolution`` is shorter.
///
/// ```swift
/// let step = EvolutionStep(from: 1, to: 2) { document, context in
///     document.rename("name", to: "title")
///     print("\(context.entity)/\(context.record): \(context.storedVersion) -> \(context.targetVersion)")
/// }
/// ```
public struct EvolutionStep: Sendable {
    /// The role of a step in its chain.
    package enum Role: Sendable {
        /// A regular step. Exactly one regular step begins at each version.
        case link
        /// A shortcut that replaces several regular steps.
        case shortcut

        var rank: Int { self == .shortcut ? 1 : 0 }
    }

    /// The versions at which the step begins.
    public let from: ClosedRange<Int>
    /// The version after the step.
    public let to: Int
    let role: Role
    let apply: Change

    /// The change that a step makes to a value.
    package typealias Change = @Sendable (inout EvolvingValue, EvolutionContext) throws -> Void

    /// Creates a step that changes a document, for chains that are assembled at run time. ``Evolution`` is shorter for
    /// chains that are known at compile time.
    ///
    /// ```swift
    /// let steps = [
    ///     EvolutionStep(from: 1, to: 2) { document, _ in document.rename("name", to: "title") },
    ///     EvolutionStep(from: 2, to: 3) { document, _ in try document.convert("stars", to: .integer) },
    /// ]
    /// let chain = Evolution.steps(steps, to: 3)  // a gap is reported as invalidEvolution when the key is first used
    /// ```
    /// - Parameters:
    ///   - from: The version at which the step begins.
    ///   - to: The version after the step.
    ///   - body: Changes the document.
    public init(from: Int, to: Int, _ body: @escaping @Sendable (inout StoredDocument, EvolutionContext) throws -> Void) {
        self.init(from: from...from, to: to, role: .link, apply: Self.change(body))
    }

    package init(from: ClosedRange<Int>, to: Int, role: Role, apply: @escaping Change) {
        (self.from, self.to, self.role, self.apply) = (from, to, role, apply)
    }

    /// Converts a function on documents to a change.
    static func change(_ body: @escaping @Sendable (inout StoredDocument, EvolutionContext) throws -> Void) -> Change {
        { value, context in try value.changeDocument { try body(&$0, context) } }
    }
}

/// A value during the steps of a chain: encoded bytes, a document, or a Swift value. It is converted to another form
/// only when a step needs that form.
package struct EvolvingValue: Sendable {
    enum Form: Sendable {
        case bytes(Data, DocumentFormat)
        case document(StoredDocument)
        case value(any Codable & Sendable)
    }

    private(set) var form: Form

    init(_ form: Form) { self.form = form }

    func document() throws -> StoredDocument {
        switch form {
        case .document(let document): document
        case .bytes(let bytes, let format): try format.decode(StoredDocument.self, bytes)
        case .value(let value): try DocumentFormat.json.decode(StoredDocument.self, try DocumentFormat.json.encode(value))
        }
    }

    package mutating func changeDocument(_ change: (inout StoredDocument) throws -> Void) throws {
        var document = try document()
        // Frees the old form first. The document is then uniquely referenced, so that the change copies nothing.
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

/// The versions of one key or collection, and the steps that convert values of earlier versions to the last one.
package struct EvolutionChain: Sendable {
    /// The earliest version that can be read. Stored values without a version count as this version.
    let base: Int
    package var steps: [EvolutionStep] = []
    /// The last version of the chain.
    package var version: Int
    /// Whether the router keeps the bytes of a record before the first step.
    var keepsBackup = false

    package init(base: Int) {
        self.base = base
        version = base
    }

    /// The reason why the chain cannot be used, with the affected version; nil for a valid chain.
    package var problem: String? {
        var next: [Int: Int] = [:]
        for step in steps where step.role == .link {
            if step.from.upperBound >= step.to {
                return "the step from version \(step.from.upperBound) leads to \(step.to): a circle. A step must lead to a later version"
            }
            for version in step.from {
                if let other = next.updateValue(step.to, forKey: version) {
                    return "two steps leave version \(version), to \(other) and to \(step.to). Remove one of them, or make it a shortcut"
                }
            }
        }
        for step in steps where step.role == .shortcut && step.from.upperBound >= step.to {
            return "the shortcut from version \(step.from.upperBound) leads to \(step.to): a circle"
        }
        if known.contains(where: { $0 < base }) { return "a step begins before version \(base), the first one of the chain" }
        if known.contains(where: { $0 > version }) { return "a step goes beyond version \(version), the last one of the chain" }
        for version in known where version != self.version {
            guard let way = way(from: version), way.last?.to == self.version else {
                let gap = way(from: version)?.last?.to ?? version
                return "no step begins at version \(gap), but the chain ends in \(self.version): a gap"
            }
        }
        return nil
    }

    /// Every version at which a step begins or ends.
    var known: Set<Int> { Set(steps.flatMap { Array($0.from) + [$0.to] } + [base, version]) }

    /// The versions before the last one, in ascending order. Stored records of these versions are converted.
    var older: [Int] { known.filter { $0 < version }.sorted() }

    /// Returns the steps from a version to the last version of the chain. If several steps begin at one version, the
    /// step to the latest version is used. If there is a gap, the result contains the steps before the gap; nil if no
    /// step begins at the start version.
    func way(from start: Int) -> [EvolutionStep]? {
        var way: [EvolutionStep] = []
        var version = start
        while version < self.version, way.count <= steps.count {
            let candidates = steps.filter { $0.from.contains(version) && $0.to <= self.version && $0.to > version }
            // If a regular step and a shortcut end at the same version, the shortcut is used.
            guard let step = candidates.max(by: { ($0.to, $0.role.rank) < ($1.to, $1.role.rank) }) else { return way.isEmpty ? nil : way }
            way.append(step)
            version = step.to
        }
        return way
    }

    /// Converts a value from its stored version to the last version of the chain.
    func evolve(_ value: inout EvolvingValue, from stored: Int, entity: String, record: String) throws {
        for step in way(from: stored) ?? [] {
            try step.apply(&value, EvolutionContext(entity: entity, record: record, storedVersion: stored, targetVersion: step.to))
        }
    }
}
