import ArgumentParser
import LocalData

/// The options that identify one value.
struct SlotOptions: ParsableArguments {
    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Argument(help: "The value's name.") var name: String
    @Flag(help: "LocalData itself seals the value: the key has the policy .encrypted.") var sealed = false

    /// How precisely the command must select the application: a sealed value belongs to one.
    var selection: StorageUse.Selection { sealed ? .identified : .any }

    /// Creates a key for this value.
    func key<Value>(_ type: Value.Type) -> StorageKey<Value> {
        StorageKey(
            name: name, domain: domain.domain, security: sealed ? .encrypted : .automatic, owner: "localdata",
            description: "Given on the command line")
    }
}

/// The consent to destroy a sealing key. Without the key, everything that it sealed is lost.
struct SealingKeyOptions: ParsableArguments {
    @Flag(help: "Do this also to the sealing key of databases and sealed values. Without the key, that data is lost for good.")
    var destroySealingKey = false

    /// Asks the user for consent if the slot contains a sealing key.
    /// - Returns: Whether the slot contains one.
    /// - Throws: `ValidationError` if the user does not consent.
    func requireConsent(_ router: StorageRouter, _ slot: SlotOptions, to action: String) async throws -> Bool {
        guard try await router.holdsSealingKey(.key(slot.key(DocumentValue.self))) else { return false }
        if destroySealingKey { return true }
        let owner = FolderOwner(router.configuration).sentence
        let what =
            "\(slot.name) in \(slot.domain.domain.text) is a sealing key. Without it, the data that it sealed is lost for good. \(owner)"
        if await Terminal.ask("\(what)\nTo \(action) it all the same, type its name: ") == slot.name { return true }
        throw ValidationError("\(what) Nothing was changed. To \(action) it without a question: --destroy-sealing-key.")
    }
}
