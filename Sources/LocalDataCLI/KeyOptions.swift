import ArgumentParser
import Foundation
import LocalData

/// The source of the key for databases, vaults and sealed values, if it is not the default of the place.
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
            // On a command line, a relative path starts at the current folder, not at the data folder.
            configuration.keySource = .keyFile(URL(fileURLWithPath: keyFile).path)
        } else if let credential {
            configuration.keySource = .credential(credential)
        } else if let passphrase {
            configuration.keySource = .passphrase(passphrase)
        }
        if vault { configuration.keychain = .sealedVault(configuration.keySource) }
        let data = try configuration.directories?.data ?? ""
        configuration.passphrase = { name in
            // A new passphrase is typed twice, since a typing error would lose the data.
            let isNew = !FileManager.default.fileExists(atPath: "\(data)/\(name).passphrase")
            return await Terminal.askPassphrase(name, twice: isNew)
        }
    }
}
