import ArgumentParser
import Foundation
import LocalData

/// The options for the source of the key that opens databases, vaults and sealed values. Without an option, the default source is used.
struct KeyOptions: ParsableArguments {
    @Option(help: "The file that holds the key.", completion: .file())
    var keyFile: String?

    @Option(help: "The credential that holds the key, in the folder CREDENTIALS_DIRECTORY.")
    var credential: String?

    @Option(
        help: ArgumentHelp(
            "The name that the program gives to the passphrase (\"default\"). The tool asks for the passphrase on the terminal.",
            valueName: "name"))
    var passphrase: String?

    @Flag(help: "The domain keychain is stored in sealed vaults under this key, not in the session's keyring.")
    var vault = false

    func validate() throws {
        if [keyFile, credential, passphrase].compactMap(\.self).count > 1 {
            throw ValidationError("Give one key source: --key-file, --credential or --passphrase.")
        }
    }

    /// Sets the chosen key source in a configuration.
    func apply(to configuration: inout StorageConfiguration) throws {
        if let keyFile {
            // A relative path on the command line is relative to the current folder, not to the data folder.
            configuration.keySource = .keyFile(URL(fileURLWithPath: keyFile).path)
        } else if let credential {
            configuration.keySource = .credential(credential)
        } else if let passphrase {
            configuration.keySource = .passphrase(passphrase)
        }
        if vault { configuration.keychain = .sealedVault(configuration.keySource) }
        let data = try configuration.directories?.data ?? ""
        configuration.passphrase = { name in
            // Ask twice for a new passphrase, because a typing error would make the data unreadable.
            let isNew = !FileManager.default.fileExists(atPath: "\(data)/\(name).passphrase")
            return await Terminal.askPassphrase(name, twice: isNew)
        }
    }
}
