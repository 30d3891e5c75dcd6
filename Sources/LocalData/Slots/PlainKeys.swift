import BackendContract

/// Decides which keys are plain: their values need no step before or after the access to the destination. No other code lists these rules.
extension TypedKey {
    /// Whether a read begins with the destination. It does not for a record, whose list must be split first, and while a release window keeps
    /// a legacy location up to date, because an earlier release may have written there.
    var isReadInPlace: Bool { membership == nil && releaseWindow == nil }

    /// Whether the content of the destination answers a read without verification.
    func isPlain(at route: Route) -> Bool { isReadInPlace && route.judge == nil }

    /// Whether a write replaces the content of the destination without a read. The store then evaluates the precondition.
    var isSetWithoutRead: Bool { !hasMigration && !isRecord }
}

extension AnyStorageKey {
    /// Whether the content of its slots shows a sweep that a key needs no visit. A sweep visits collections, and keys with chains, seals,
    /// witnesses, release windows and custom migrations.
    func isPlainInSweeps(at route: Route) -> Bool {
        collection == nil && base.isPlain(at: route) && base.evolution == nil && route.witnesses == nil && isMovedBySteps
    }

    /// Whether the library performs all migrations of a single key. A custom migration may have work whatever its sources contain.
    var isMovedBySteps: Bool { collection == nil && migrations.allSatisfy { if case .step = $0.form { true } else { false } } }
}
