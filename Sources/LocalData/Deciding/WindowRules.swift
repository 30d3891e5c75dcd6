import BackendContract

/// The rules of release windows, for code that settles and moves values. The room `Windows` has them, and the router gives them to the
/// engine. So the rooms below do not use that room.
protocol WindowRules: EnginePart, Sendable {
    init(engine: Engine)

    /// Applies the rules of a release window to the settled destination of a key.
    func settle<Value>(_ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>) async throws -> WindowOutcome

    /// Writes the mirror of a moved value to the legacy location of an open window. Writes nothing if another process has
    /// changed the legacy location or the destination since the move.
    /// - Parameters:
    ///   - record: The record that the move wrote.
    ///   - source: The record of the legacy location; nil if the value was moved from another location.
    func afterMove(of record: MirroredRecord, _ prepared: EncodedValue, from source: StorageRecord?, at place: MirroredLocation) async
}

/// The result of settling a key with a release window.
enum WindowOutcome: Sendable {
    /// No release window applies. The caller continues with the ordinary state table.
    case ordinary
    /// The destination must be read again. The visit has what was done so far.
    case lookAgain(Visit?)
    case settled(Visit)
}
