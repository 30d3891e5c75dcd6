import Logging

/// Passes events to the logger and the instruments of a configuration.
struct EventReport: Sendable {
    let logger: Logger
    let instruments: [any StorageInstrument]

    /// Sends an event to the instruments, and logs it with its name as the metadata `event`.
    /// - Parameters:
    ///   - message: The message of the log. It contains no value and no name of a record.
    ///   - metadata: Further metadata, with the same rule.
    func send(_ event: StorageEvent, _ message: String, _ metadata: [String: String] = [:]) {
        for instrument in instruments { instrument.record(event) }
        let level = Self.level(of: event)
        guard logger.logLevel <= level else { return }
        var details: Logger.Metadata = ["event": .string(event.name)]
        for (name, text) in metadata { details[name] = .string(text) }
        logger.log(level: level, "\(message)", metadata: details)
    }

    private static func level(of event: StorageEvent) -> Logger.Level {
        switch event {
        case .migrated: .debug
        case .sweepEnded(let isComplete, _, _, _, _): isComplete ? .debug : .notice
        case .migrationFailed, .catalogProblem, .readUnmigrated, .mirrorPending, .damagedRecordSkipped: .notice
        case .changesRepeated: .warning
        case .changesLost: .error
        }
    }
}
