extension StorageKey {
    /// This key, reading values that were stored in earlier shapes, and keeping them in an older one while programs of an earlier release may still run, or run again after a roll-back:
    /// they read and write the truth.
    ///
    /// ```swift
    /// let evolution = Evolution.from(ThemeV1.self).to { Theme($0) } down: { ThemeV1($0) }
    /// let theme = StorageKey<Theme>(name: "theme", …)
    ///     .evolving(evolution, keeping: .until(version: "3.0"), readableBy: 1) { older, newer in newer.with(older) }
    /// ```
    ///
    /// While the window is open, the key's place holds the value in the shape of version `oldest`, made by the steps' `down`. With `merge`, and in a store that commits several changes at once,
    /// the newer shapes are kept beside it, in the same commit. When an earlier release has written since, a read answers with what `merge` makes of both, and a sweep writes it. Otherwise the
    /// older shape has to tell everything: a value for which the steps do not lead back to the same stored bytes is refused with `encodingFailed`, and nothing is changed.
    ///
    /// When the window is over, a sweep writes the newest shape to the key's place and removes what is beside it, in one commit. A place that holds a later version already keeps it. See
    /// `Docs/MigrationGuide.md`, "Rolling out and rolling back".
    /// - Parameters:
    ///   - evolution: The chain; it ends in the key's own type. Each step between `oldest` and its end has a `down`. The key's serializer is `.json` or `.plist`.
    ///   - window: How long the older shape is kept.
    ///   - oldest: The version that the oldest program of the window reads. Programs of the versions between read their own shape.
    ///   - merge: Makes one value of what an earlier release wrote, brought to the newer shape, and of the value that it wrote over. It may run again with the same values, so it
    ///     must not invent anything. What it throws becomes `migrationFailed`, and both are left as they are.
    public func evolving(
        _ evolution: TypedEvolution<Value>, keeping window: ReleaseWindow, readableBy oldest: Int,
        merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)? = nil
    ) -> Self {
        evolving(evolution.chain, keeping: window, readableBy: oldest, merge)
    }

    /// This key, reading values that were stored in earlier shapes, and keeping them in an older one: with a chain whose last step leaves a document. See
    /// `StorageKey.evolving(_:keeping:readableBy:merge:)`.
    /// - Parameters:
    ///   - evolution: The chain. Each step between `oldest` and its end has a `down`. The key's serializer is `.json` or `.plist`.
    ///   - window: How long the older shape is kept.
    ///   - oldest: The version that the oldest program of the window reads.
    ///   - merge: Makes one value of what an earlier release wrote, brought to the newer shape, and of the value that it wrote over.
    public func evolving(
        _ evolution: DocumentEvolution, keeping window: ReleaseWindow, readableBy oldest: Int,
        merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)? = nil
    ) -> Self {
        evolving(evolution.chain, keeping: window, readableBy: oldest, merge)
    }

    private func evolving(
        _ chain: EvolutionChain, keeping window: ReleaseWindow, readableBy oldest: Int,
        _ merge: (@Sendable (_ older: Value, _ newer: Value) throws -> Value)?
    ) -> Self {
        var problem = chain.problem ?? chain.problem(readableBy: oldest)
        if DocumentFormat(rawValue: serializer.name) == nil {
            problem =
                "older shapes are kept as JSON and property lists, and the key's serializer is \(serializer.name). Choose .json or .plist"
        }
        if membership != nil { problem = "records of a collection are kept in one shape. Give the collection a chain without a window" }
        let versions = (problem == nil ? chain.wayBack(to: oldest) : nil)?.map(\.from.lowerBound) ?? []
        return evolving(chain, problem, MirroredShape(window: window, versions: versions, merge: merge))
    }
}
