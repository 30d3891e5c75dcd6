import ArgumentParser
import Foundation
import LocalData

/// `localdata list`: lists the names in a domain.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the names in a domain, one on each line, without values.")

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let (names, damage) = try await place.withRouter(for: [domain.domain]) { try await $0.namesAndDamage(in: domain.domain) }
        if place.json {
            return try Output.json(names.map { Shown(name: $0, damaged: nil) } + damage.map { Shown(name: nil, damaged: $0) })
        }
        for name in names { Output.line(name) }
        for record in damage {
            Failure.write("\(record.isLocked ? "locked" : "damaged"): \(record.name ?? "a record without a name"): \(record.reason)")
        }
    }

    /// The JSON output for an entry. Exactly one of the properties is set.
    private struct Shown: Encodable {
        let name: String?
        let damaged: ShownDamage?
    }
}

/// Collects the damaged records that a listing reports.
private actor ReportedDamage {
    private(set) var records: [ShownDamage] = []

    func add(_ record: ShownDamage) { records.append(record) }
}

extension StorageRouter {
    /// Lists the names and the damaged records in a domain.
    nonisolated func namesAndDamage(
        in domain: StorageDomain, collection: String? = nil
    ) async throws -> (names: [String], damage: [ShownDamage]) {
        let damage = ReportedDamage()
        let names = try await names(of: domain, collection: collection, onDamage: .report { await damage.add(ShownDamage($0, $1)) })
        return (names, await damage.records)
    }
}

/// The options that identify one value.
struct SlotOptions: ParsableArguments {
    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Argument(help: "The value's name.") var name: String
    @Flag(help: "LocalData itself seals the value: the key has the policy .encrypted.") var sealed = false

    /// Creates a key for this value.
    func key<Value>(_ type: Value.Type) -> StorageKey<Value> {
        StorageKey(
            name: name, domain: domain.domain, security: sealed ? .encrypted : .automatic, owner: "localdata",
            description: "Given on the command line")
    }
}

/// The consent to destroy a sealing key. Without the key, everything that it sealed is lost.
struct SealingKeyOptions: ParsableArguments {
    @Flag(help: "Do this also to the sealing key of databases and sealed values. What it sealed is then lost for good.")
    var destroySealingKey = false

    /// Asks the user for consent if the slot contains a sealing key.
    /// - Throws: `ValidationError` if the user does not consent.
    func requireConsent(_ router: StorageRouter, _ slot: SlotOptions, to action: String) async throws {
        guard !destroySealingKey, try await router.holdsSealingKey(.key(slot.key(DocumentValue.self))) else { return }
        let what = "\(slot.name) in \(slot.domain.domain) is a sealing key. What it sealed is lost for good without it."
        if await Terminal.ask("\(what)\nTo \(action) it all the same, type its name: ") == slot.name { return }
        throw ValidationError("\(what) Nothing was changed. To \(action) it without a question: --destroy-sealing-key.")
    }
}

/// `localdata get`: prints the kind of a stored value, and the value if the user requests it.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows the kind of a stored value; prints the value only with --reveal.")

    @OptionGroup var slot: SlotOptions
    @Flag(help: "Print the value.") var reveal = false
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let value = try await place.withRouter(for: [slot.domain.domain], isSealed: slot.sealed) {
            try await $0.get(slot.key(DocumentValue.self))
        }
        if place.json { return try Output.json(ShownValue(name: slot.name, value, isRevealed: reveal)) }
        if reveal { Output.value(try value.text()) } else { Output.line("\(slot.name): \(value.summary); print it with --reveal") }
    }
}

/// `localdata set`: stores a value.
struct Set: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stores a value, which is read from standard input.",
        discussion: """
            On a terminal, the command asks for the value and does not show it. The value is never an argument: other users can read the arguments \
            of a program, and the shell keeps them. One newline at its end does not count.
            """)

    @OptionGroup var slot: SlotOptions
    @Flag(help: "The value is JSON: a number, true, an object, …") var fromJSON = false
    @Flag(help: "Replace a value of another kind, as a number by a text. The program may not be able to read it.") var changeKind = false
    @OptionGroup var sealingKey: SealingKeyOptions
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let text = try await Self.readValue(slot.name)
        let document = fromJSON ? DocumentValue(json: text) : nil
        if fromJSON, document == nil { throw ValidationError("The value is not JSON.") }
        try await place.withRouter(for: [slot.domain.domain], isSealed: slot.sealed) { router in
            try await sealingKey.requireConsent(router, slot, to: "replace")
            if !changeKind { try await requireSameKind(router, document ?? .string(text)) }
            if let document {
                try await router.set(document, for: slot.key(DocumentValue.self))
            } else {
                try await router.set(text, for: slot.key(String.self))
            }
        }
        if place.json { try Output.done() }
    }

    /// Checks that an existing value has the same kind as the new one. If there is no value, or if it cannot be
    /// decoded, any kind is accepted.
    /// - Throws: `ValidationError` with the next step if the kinds differ.
    private func requireSameKind(_ router: StorageRouter, _ new: DocumentValue) async throws {
        let old: DocumentValue
        do { old = try await router.get(slot.key(DocumentValue.self)) } catch StorageError.notFound { return } catch StorageError
            .undecodable
        { return }
        guard old.kind != new.kind else { return }
        let hint = fromJSON ? "" : " With --from-json, the input is read as JSON."
        throw ValidationError(
            "\(slot.name) is of the kind \(old.kind), and the new value is of the kind \(new.kind): the program may not be able to read it.\(hint) To replace it all the same: --change-kind. Nothing was changed."
        )
    }

    // Reason: "The tool never takes a secret as an argument" in Docs/Decisions/ToolAndErrors.md.
    private static func readValue(_ name: String) async throws -> String {
        if isatty(STDIN_FILENO) == 1 {
            guard let value = await Terminal.askSecret("Value of \(name): ") else { throw ValidationError("No value was given.") }
            return value
        }
        let data = try FileHandle.standardInput.readToEnd() ?? Data()
        // An empty text still ends with a newline. No input at all means that the command before the pipe has failed.
        if data.isEmpty { throw ValidationError("No value was given: standard input is empty. Nothing was changed.") }
        guard var text = String(data: data, encoding: .utf8) else { throw ValidationError("Standard input is not text (UTF-8).") }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}

/// `localdata remove`: removes a value.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes a value; an absent value is not an error.",
        discussion: """
            The tool does not know the migrations of a program, so it leaves copies in legacy locations. The program may migrate such a copy again. \
            To remove a value for good, remove it in the program.
            """)

    @OptionGroup var slot: SlotOptions
    @OptionGroup var sealingKey: SealingKeyOptions
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        try await place.withRouter(for: [slot.domain.domain], isSealed: slot.sealed) { router in
            try await sealingKey.requireConsent(router, slot, to: "remove")
            try await router.remove(slot.key(DocumentValue.self))
        }
        if place.json { try Output.done() }
    }
}
