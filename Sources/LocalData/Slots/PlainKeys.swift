import BackendContract

/// Decides which keys are plain: their values need no step before or after the access to the destination. No other code lists these rules,
/// except ``TypedKey/isReadInPlace``, which a key computes once.
extension TypedKey {
    /// Whether a write replaces the content of the destination without a read. The store then evaluates the precondition.
    var isSetWithoutRead: Bool { !hasMigration && !isRecord }
}

extension AnyStorageKey {
    /// Whether the content of its slots shows a sweep that a key needs no visit. A sweep visits collections, and keys with chains, seals,
    /// witnesses, release windows and custom migrations.
    func isPlainInSweeps(at route: Route) -> Bool {
        collection == nil && base.isReadInPlace && route.isPlain && base.evolution == nil && isMovedBySteps
    }

    /// Whether the library performs all migrations of a single key. A custom migration may have work whatever its sources contain.
    var isMovedBySteps: Bool { collection == nil && migrations.allSatisfy { if case .step = $0.form { true } else { false } } }
}
