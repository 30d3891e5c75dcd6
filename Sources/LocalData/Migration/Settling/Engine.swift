/// The services of a router that the code for values and records uses.
final class Engine: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
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
}
