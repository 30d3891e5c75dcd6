public import BackendContract

/// A rule that every backend with certain capabilities must keep, and a function that checks it.
///
/// Run all laws in a test of a new backend. The check gets a *bench* (``LawBench``), which creates the backends to
/// check.
///
/// ```swift
/// for law in BackendLaw.all where law.applies(to: bench) { try await law.verify(on: bench) }
/// ```
public struct BackendLaw: Sendable, CustomStringConvertible {
    /// An ability of the bench that the check of a law needs.
    public enum Need: Hashable, Sendable {
        /// The bench can create a second backend over the same store: ``LawBench/reopen``.
        case reopening
        /// The bench can write as a program without LocalData does: ``LawBench/writeForeign``.
        case foreignWriter
        /// The bench can change a value and keep the metadata of the old value: ``LawBench/changeBehindMetadata``.
        case strandedMetadata
        /// The bench can damage a stored value: ``LawBench/corrupt``.
        case damage
    }

    /// The law, as a sentence.
    public let name: String
    /// The abilities of the bench that the check of the law needs.
    public let needs: Set<Need>
    /// Returns whether a backend with these capabilities must keep the law.
    public let requires: @Sendable (BackendCapabilities) -> Bool
    /// Throws if the law is broken. ``verify(on:)`` adds the name of the law to the error.
    public let check: @Sendable (LawBench) async throws -> Void

    /// Creates a law.
    ///
    /// ```swift
    /// let law = BackendLaw("an empty store has no names") { bench in
    ///     let names = try await bench.makeStore().addresses(in: .values)
    ///     if !names.isEmpty { throw LawViolation(expected: "no names", found: "\(names.count) names") }
    /// }
    /// ```
    /// - Parameters:
    ///   - name: The law, as a sentence.
    ///   - needs: The abilities of the bench that the check needs.
    ///   - requires: Returns whether a backend with these capabilities must keep the law. By default, every backend
    ///     must.
    ///   - check: Throws ``LawViolation`` if the law is broken.
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

    /// Returns true if the backend of a bench must keep the law and the bench has the abilities that the check needs.
    ///
    /// ```swift
    /// let skipped = BackendLaw.all.filter { !$0.applies(to: bench) }
    /// print("\(skipped.count) laws need more capabilities of the store, or more closures of the bench")
    /// ```
    public func applies(to bench: LawBench) -> Bool { requires(bench.capabilities) && needs.isSubset(of: bench.abilities) }

    /// Checks the law.
    ///
    /// ```swift
    /// do { try await BackendLaw.all[0].verify(on: bench) } catch let violation as LawViolation {
    ///     print(violation.law, violation.expected, violation.found)
    /// }
    /// ```
    /// - Throws: ``LawViolation`` if the law is broken, or if a call failed that must succeed.
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
    /// Creates a law whose check begins with a new store of the bench.
    init(
        _ name: String, needs: Set<Need> = [], requires: @escaping @Sendable (BackendCapabilities) -> Bool = { _ in true },
        check: @escaping @Sendable (_ store: any StorageBackend, LawBench) async throws -> Void
    ) {
        self.init(name, needs: needs, requires: requires) { bench in try await check(bench.makeStore(), bench) }
    }

    /// All laws of this module.
    public static let all: [BackendLaw] =
        values + nativeValues + batches + preconditions + revisions + tombstones + metadata + names + enumeration + pages + instances
        + foreignData + salvage
        + durability + concurrency
}
