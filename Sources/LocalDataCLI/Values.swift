import ArgumentParser
import Foundation
import LocalData

/// `localdata list`: the names in a domain.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the names in a domain, one a line; no values.")

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        try await place.withRouter(for: [domain.domain]) { router in
            for name in try await router.names(in: domain.domain) { print(name) }
        }
    }
}

/// Which value a command is about.
struct SlotOptions: ParsableArguments {
    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Argument(help: "The value's name.") var name: String
    @Flag(help: "The value is sealed by LocalData itself: the policy .encrypted.") var sealed = false

    /// A key for this value.
    func key<Value>(_ type: Value.Type) -> StorageKey<Value> {
        StorageKey(
            name: name, domain: domain.domain, security: sealed ? .encrypted : .automatic, owner: "localdata",
            description: "Given on the command line")
    }
}

/// `localdata get`: whether a value is there, and the value itself on request.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Tells what kind of value is stored; prints it only with --reveal.")

    @OptionGroup var slot: SlotOptions
    @Flag(help: "Print the value.") var reveal = false
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let value = try await place.withRouter(for: [slot.domain.domain]) { try await $0.get(slot.key(StoredValue.self)) }
        print(reveal ? try value.text() : "\(slot.name): \(value.kind); print it with --reveal")
    }
}

/// `localdata set`: stores a value.
struct Set: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stores a value.",
        discussion: "Without VALUE it is read from standard input, which keeps a secret out of the shell's history.")

    @OptionGroup var slot: SlotOptions
    @Argument(help: "The value, as text.") var value: String?
    @Flag(help: "The value is JSON: a number, true, an object, …") var json = false
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let text = try value ?? StoredValue.readStandardInput()
        if json {
            guard let value = StoredValue(json: text) else { throw ValidationError("The value is not JSON.") }
            try await place.withRouter(for: [slot.domain.domain]) { try await $0.set(value, for: slot.key(StoredValue.self)) }
        } else {
            try await place.withRouter(for: [slot.domain.domain]) { try await $0.set(text, for: slot.key(String.self)) }
        }
    }
}

/// `localdata remove`: removes a value.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes a value; removing what is not there is no error.",
        discussion: """
            The tool knows no program's migrations: it leaves older copies where they are, and the program that owns the value may take it from there again. \
            To remove a value for good, remove it in the program.
            """)

    @OptionGroup var slot: SlotOptions
    @OptionGroup var place: PlaceOptions

    func run() async throws { try await place.withRouter(for: [slot.domain.domain]) { try await $0.remove(slot.key(StoredValue.self)) } }
}
