public import BackendContract

/// A law that every backend with certain capabilities must keep, and its check.
///
/// ```swift
/// for law in BackendLaw.all where law.applies(to: bench) { try await law.verify(on: bench) }
/// ```
public struct BackendLaw: Sendable, CustomStringConvertible {
    /// What a law needs its bench to be able to do.
    public enum Need: Hashable, Sendable {
        /// ``LawBench/reopen``
        case reopening
        /// ``LawBench/writeForeign``
        case foreignWriter
        /// ``LawBench/changeBehindMetadata``
        case strandedMetadata
        /// ``LawBench/corrupt``
        case damage
    }

    /// The law, as a sentence.
    public let name: String
    /// What the bench must be able to do for the law to be checked.
    public let needs: Set<Need>
    /// Whether the law binds a backend with these capabilities.
    public let requires: @Sendable (BackendCapabilities) -> Bool
    /// Throws if the law is broken; ``verify(on:)`` adds the name of the law to the error.
    public let check: @Sendable (LawBench) async throws -> Void

    /// Creates a law.
    /// - Parameters:
    ///   - name: The law, as a sentence.
    ///   - needs: What the bench must be able to do.
    ///   - requires: Whether the law binds a backend with these capabilities; by default it binds every backend.
    ///   - check: Throws ``LawViolation`` where the law is broken.
    public init(
        _ name: String, needs: Set<Need> = [], requires: @escaping @Sendable (BackendCapabilities) -> Bool = { _ in true },
        check: @escaping @Sendable (LawBench) async throws -> Void
    ) {
        self.name = name
        self.needs = needs
        self.requires = requires
        self.check = check
    }

    /// The law, as a sentence.
    public var description: String { name }

    /// Whether the law binds the backend of a bench and the bench can check it.
    public func applies(to bench: LawBench) -> Bool { requires(bench.capabilities) && needs.isSubset(of: bench.abilities) }

    /// Checks the law.
    /// - Throws: ``LawViolation`` when it is broken, also when a call failed that the law says must succeed.
    public func verify(on bench: LawBench) async throws {
        do {
            try await check(bench)
        } catch var violation as LawViolation {
            violation.law = name
            throw violation
        } catch let error as BackendError {
            throw LawViolation(law: name, expected: "calls that are carried out", found: "the error \(error) (\(error.outcome))")
        }
    }
}

extension BackendLaw {
    /// Every law.
    public static let all: [BackendLaw] =
        values + nativeValues + batches + preconditions + revisions + tombstones + metadata + names + enumeration + pages + instances
        + foreignData + salvage
        + durability + concurrency
}
