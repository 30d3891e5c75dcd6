import ArgumentParser
import LocalData

/// `localdata remove`: removes a value.
struct Remove<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "remove", abstract: "Removes a value; an absent value is not an error.",
            discussion: """
                The command does not use the migrations of the program, so it leaves copies in legacy locations. The program may migrate \
                such a copy again. To remove a value for good, remove it in the program.

                Example: \(Options.program) remove sqlite:documents draft --yes
                """)
    }

    @OptionGroup var slot: SlotOptions
    @OptionGroup var sealingKey: SealingKeyOptions
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var place: Options

    func run() async throws {
        try await place.withRouter(for: [slot.domain.domain], selection: slot.selection, effect: .changes) { router in
            if try await !sealingKey.requireConsent(router, slot, to: "remove") {
                try await consent.require("This removes the value \(slot.name) from \(slot.domain.domain.text).", of: router.configuration)
            }
            try await router.remove(slot.key(DocumentValue.self))
        }
        if place.json { try Output.done() }
    }
}
