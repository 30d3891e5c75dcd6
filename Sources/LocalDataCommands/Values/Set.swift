import ArgumentParser
import Foundation
import LocalData

/// `localdata set`: stores a value.
struct Set<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set", abstract: "Stores a value, which is read from standard input.",
            discussion: """
                On a terminal, the command asks for the value and does not show it. The value is never an argument: other users can read \
                the arguments of a program, and the shell keeps them. One newline at its end does not count, except with --raw. The first \
                value of a domain creates its store.

                Example: pass show api-token | \(Options.program) set keychain:com.example.app api-token
                """)
    }

    @OptionGroup var slot: SlotOptions
    @Flag(help: "The value is JSON: a number, true, an object, …") var fromJSON = false
    @Flag(help: "The value is bytes: all of standard input, unchanged.") var raw = false
    @Flag(help: "Replace a value of another kind, as a number by a text. The program may not be able to read it.") var changeKind = false
    @OptionGroup var sealingKey: SealingKeyOptions
    @OptionGroup var place: Options

    func validate() throws {
        if fromJSON, raw { throw ValidationError("Give one of the two: --from-json or --raw.") }
    }

    func run() async throws {
        let value = try await readValue()
        try await place.withRouter(for: [slot.domain.domain], selection: slot.selection, effect: .changes, creates: true) { router in
            _ = try await sealingKey.requireConsent(router, slot, to: "replace")
            if !changeKind {
                try await requireSameSealing(router)
                try await requireSameKind(router, value)
            }
            switch value {
            // A text and bytes have the form in which a program stores them.
            case .string(let text): try await router.set(text, for: slot.key(String.self))
            case .data(let data): try await router.set(data, for: slot.key(Data.self))
            default: try await router.set(value, for: slot.key(DocumentValue.self))
            }
        }
        if place.json { try Output.done() }
    }

    /// Checks that an existing value and the new one are both sealed one by one, or both are not.
    /// - Throws: `ValidationError` with the next step if they differ.
    private func requireSameSealing(_ router: StorageRouter) async throws {
        guard let metadata = try await router.storedMetadata(of: .key(slot.key(DocumentValue.self))) else { return }
        let isSealed = metadata.sealing != nil
        guard isSealed != slot.sealed else { return }
        let now = isSealed ? "is sealed, and the new value would be stored unsealed" : "is not sealed, and the new one would be"
        let option = isSealed ? "With --sealed, the new value is sealed, too." : "Leave out --sealed."
        throw ValidationError(
            "\(slot.name) \(now): the program may not be able to read it. \(option) To replace it all the same: --change-kind. "
                + "Nothing was changed.")
    }

    /// Checks that an existing value has the same kind as the new one. If there is no value, or if it cannot be
    /// decoded, any kind is accepted.
    /// - Throws: `ValidationError` with the next step if the kinds differ.
    private func requireSameKind(_ router: StorageRouter, _ new: DocumentValue) async throws {
        let old: DocumentValue
        do { old = try await router.get(slot.key(DocumentValue.self)) } catch let error as StorageError {
            if [StorageError.notFound, StorageError.undecodable].contains(error.code) { return }
            throw error
        }
        guard old.kind != new.kind else { return }
        let hint = fromJSON || raw ? "" : " With --from-json, the input is read as JSON."
        throw ValidationError(
            "\(slot.name) is of the kind \(old.kind), and the new value is of the kind \(new.kind): the program may not be able to read it.\(hint) To replace it all the same: --change-kind. Nothing was changed."
        )
    }

    // MARK: The input

    // Reason: "The tool never takes a secret as an argument" in Docs/Decisions/ToolAndErrors.md.
    private func readValue() async throws -> DocumentValue {
        if raw {
            if Terminal.isInteractive { throw ValidationError("Bytes cannot be typed on a terminal: with --raw, use a pipe or a file.") }
            return .data(try Self.input())
        }
        let text = try await readText()
        guard fromJSON else { return .string(text) }
        guard let value = DocumentValue(json: text) else { throw ValidationError("The value is not JSON.") }
        return value
    }

    private func readText() async throws -> String {
        if Terminal.isInteractive {
            guard let value = await Terminal.askSecret("Value of \(slot.name): "), !value.isEmpty else {
                throw ValidationError("No value was given. Nothing was changed.")
            }
            return value
        }
        guard var text = String(data: try Self.input(), encoding: .utf8) else {
            throw ValidationError("Standard input is not text (UTF-8). To store bytes: --raw.")
        }
        // In Swift, a carriage return with a line feed is one character.
        if let last = text.last, last.isNewline { text.removeLast() }
        return text
    }

    /// The largest value that a store takes, in bytes.
    private static var largest: Int { 16 << 20 }

    private static func input() throws -> Data {
        var data = Data()
        do {
            while data.count <= Self.largest, let more = try FileHandle.standardInput.read(upToCount: 1 << 20), !more.isEmpty {
                data += more
            }
        } catch { throw ValidationError("Standard input cannot be read. Nothing was changed.") }
        if data.count > Self.largest { throw ValidationError("A value has at most 16 MiB. Nothing was changed.") }
        // An empty text still ends with a newline. No input at all means that the command before the pipe has failed.
        if data.isEmpty { throw ValidationError("No value was given: standard input is empty. Nothing was changed.") }
        return data
    }
}
