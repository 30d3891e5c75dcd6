import ArgumentParser
import LocalData

/// `localdata get`: prints a stored value, or only its kind.
struct Get<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "get", abstract: "Prints a stored value.",
            discussion: """
                To a pipe or a file, the command writes the bytes of the value and adds no newline. On a terminal, it writes text with a \
                newline, control characters as escapes, and bytes that are no text in Base64.

                Example: TOKEN=$(\(Options.program) get keychain:com.example.app api-token)
                """)
    }

    @OptionGroup var slot: SlotOptions
    @Flag(help: "Write the bytes unchanged, also to a terminal.") var raw = false
    @Flag(help: "Print the kind of the value, not its content.") var kind = false
    @OptionGroup var place: Options

    func validate() throws {
        if kind, raw { throw ValidationError("Give one of the two: --kind or --raw.") }
    }

    func run() async throws {
        let value = try await place.withRouter(for: [slot.domain.domain], selection: slot.selection) {
            try await $0.get(slot.key(DocumentValue.self))
        }
        if place.json { return try Output.json(ShownValue(name: slot.name, value, onlyKind: kind)) }
        if kind { return Output.line("\(slot.name): \(value.summary)") }
        try Output.content(value, isRaw: raw)
    }
}
