import ArgumentParser
import BackendRuntime
import Foundation
import LocalData

/// The options for a copy between two keyrings.
struct KeyringCopyOptions: ParsableArguments {
    @Argument(help: "With --from-bus: the keyring service, keychain:SERVICE. Default: the service of the application.")
    var domain: DomainArgument?
    @Option(help: ArgumentHelp("The address of the session bus of the other keyring, which must be unlocked.", valueName: "address"))
    var fromBus: String?

    func validate() throws {
        if domain != nil, fromBus == nil {
            throw ValidationError("A domain needs --from-bus. To migrate the keys of a program, give no domain.")
        }
        if let domain, domain.domain.kind != .keychain { throw ValidationError("Only keychain:SERVICE is copied from another keyring.") }
    }

    /// Compares the two keyrings, and runs work on the result.
    func withCopy<Answer>(
        _ place: some StorageOptions, from bus: String, _ body: (KeyringCopy) async throws -> Answer
    ) async throws -> Answer {
        let domain = domain?.domain ?? .keychain
        return try await place.reporting {
            let use = StorageUse(domains: [domain], selection: domain.scope == nil ? .identified : .any, creates: true)
            let configuration = try await place.configuration(for: use)
            guard StoreFinder(configuration).hasKeyring else {
                throw ValidationError("The domain keychain is not in a keyring here, so no item can be copied.")
            }
            let copy = try await KeyringCopy(domain, configuration, from: bus)
            return try await ending(copy.close) { try await body(copy) }
        }
    }
}

/// A copy of all items of a service, with exactly their stored bytes, from the keyring on another session bus to the keyring of this
/// session. The items are those of LocalData, among them the sealing key of the application's databases.
struct KeyringCopy {
    let service: String
    /// The items that this keyring lacks, has with other content, and has with the same content.
    let missing, different, same: [BackupItem]
    private let destination: KeyringItems

    /// Reads both keyrings, and changes none.
    /// - Throws: ``StorageError``: `locked`, `unavailable`; `Refusal` if the other keyring has no item of the service.
    init(_ domain: StorageDomain, _ configuration: StorageConfiguration, from bus: String) async throws {
        guard let source = try KeyringItems(domain, configuration), let destination = try KeyringItems(domain, configuration) else {
            throw StorageError(StorageError.unavailable, key: domain.text, "This build has no keyring.")
        }
        (service, self.destination) = (source.service, destination)
        let wanted = try await BusAddressVariable.with(bus) { try await source.items() }
        await source.close()
        guard !wanted.isEmpty else {
            throw Refusal(
                status: .unknownName, code: "unknownStore", name: service,
                message: "The keyring on the other bus has no item of the service \(service).")
        }
        var present: [[String]: [UInt8]] = [:]
        for item in try await destination.items() { present[[item.namespace, item.name]] = item.content }
        missing = wanted.filter { present[[$0.namespace, $0.name]] == nil }
        different = wanted.filter { item in present[[item.namespace, item.name]].map { $0 != item.content } ?? false }
        same = wanted.filter { present[[$0.namespace, $0.name]] == $0.content }
    }

    /// The number of items to write.
    var count: Int { missing.count + different.count }

    /// Writes the missing and the different items, and reads all of them back.
    func run(_ progress: (Int) -> Void) async throws {
        try await destination.write(missing + different, keeping: "replaced:\(UUID().uuidString)", progress)
        let written = try await destination.items()
        for item in missing + different + same where !written.contains(item) {
            throw StorageError(
                StorageError.conflict, key: item.name, "Another program changed the item during the copy. Repeat the command.",
                outcome: .unknown)
        }
    }

    /// Prints the names of the items as text or JSON.
    /// - Parameter isPlan: Whether nothing was written.
    func show(asJSON json: Bool, isPlan: Bool = false) throws {
        let groups = [("copied", "copy", missing), ("replaced", "replace", different), ("unchanged", "unchanged", same)]
        func name(_ item: BackupItem) -> String { item.namespace.isEmpty ? item.name : "\(item.namespace)/\(item.name)" }
        if json {
            return try Output.json(Dictionary(uniqueKeysWithValues: groups.map { ($0, $2.map(name)) }))
        }
        for (done, planned, items) in groups { for item in items { Output.line("\(isPlan ? planned : done)  \(name(item))") } }
    }

    /// Ends the use of the keyring.
    func close() async { await destination.close() }
}

/// The environment variable that contains the address of the session bus.
private enum BusAddressVariable {
    private static let name = "DBUS_SESSION_BUS_ADDRESS"

    /// Runs work with another session bus. The keyring's connection reads the variable for each call. The tool runs nothing else at that
    /// time, so no other thread reads the environment.
    static func with<Answer>(_ address: String, _ body: () async throws -> Answer) async throws -> Answer {
        let usual = systemEnvironmentVariable(name)
        setenv(name, address, 1)
        defer { if let usual { setenv(name, usual, 1) } else { unsetenv(name) } }
        return try await body()
    }
}
