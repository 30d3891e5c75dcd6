import BackendContract
import BackendRuntime

/// The services of a router that the code for values and records uses.
final class Engine: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode
    let windows: any WindowRules.Type

    init(
        _ slots: SlotAccess, _ coder: RecordCoder, _ history: History, windows: any WindowRules.Type, rehearsal: RehearsalNotes? = nil
    ) {
        (self.slots, self.coder, self.history, self.windows) = (slots, coder, history, windows)
        program = ProgramCode(history, rehearsal: rehearsal)
    }
}

/// A type whose work needs the services of a router.
protocol EnginePart {
    var engine: Engine { get }
}

extension EnginePart {
    var slots: SlotAccess { engine.slots }
    var coder: RecordCoder { engine.coder }
    var history: History { engine.history }
    var program: ProgramCode { engine.program }
    var origins: Origins { Origins(engine: engine) }
    var windowPlaces: WindowPlaces { WindowPlaces(engine: engine) }
    var windows: any WindowRules { engine.windows.init(engine: engine) }

    /// Makes content durable that was found in a slot, not written by this call. Returns the achieved durability.
    /// - Parameter origin: The origin of the content, if it is known.
    func settledDurability(of route: Route, _ origin: RecordOrigin?) async throws -> StorageDurability {
        let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await route.backend.synchronize() }
        // Reason: "Durability needs the daemon's folder, or a reboot" in Docs/Decisions/Keyring.md.
        if achieved == .untilPowerLoss, let written = origin?.boot, let now = slots.runtime.host.bootID, written != now { return .durable }
        return achieved
    }
}
