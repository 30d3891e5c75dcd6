import ArgumentParser
import Foundation
import LocalData

/// The options for the source of the key that opens databases, vaults and sealed values. Without an option, the default source is used.
struct KeyOptions: ParsableArguments {
    @Option(help: KeySourceArgument.help) var keySource: KeySourceArgument?

    @Flag(help: "The key is under the passphrase \"default\": short for --key-source passphrase. The tool asks for it on the terminal.")
    var passphrase = false

    @Flag(help: "The domain keychain is stored in sealed vaults under this key, not in the session's keyring.")
    var vault = false

    func validate() throws {
        if keySource != nil, passphrase { throw ValidationError("Give one key source: --key-source or --passphrase.") }
    }

    /// The options as words of a command line.
    var words: [String] {
        (keySource.map { ["--key-source", $0.text] } ?? []) + (passphrase ? ["--passphrase"] : []) + (vault ? ["--vault"] : [])
    }

    /// Sets the chosen key source in a configuration.
    func apply(to configuration: inout StorageConfiguration) throws {
        if let keySource { configuration.keySource = keySource.reference }
        if passphrase { configuration.keySource = .passphrase() }
        if vault { configuration.keychain = .sealedVault(configuration.keySource) }
        let data = try configuration.directories?.data ?? ""
        configuration.passphrase = { name in
            // Ask twice for a new passphrase, because a typing error would make the data unreadable.
            let isNew = !FileManager.default.fileExists(atPath: "\(data)/\(name).passphrase")
            return await Terminal.askPassphrase(name, twice: isNew)
        }
    }
}
