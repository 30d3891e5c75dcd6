import ArgumentParser
import Foundation
import LocalData

/// Where the key of databases, vaults and sealed values is kept, if it is elsewhere than the place says.
struct KeyOptions: ParsableArguments {
    @Option(help: "The file that holds the key.", completion: .file())
    var keyFile: String?

    @Option(help: "The credential that holds the key, in the folder that CREDENTIALS_DIRECTORY names.")
    var credential: String?

    @Option(
        help: ArgumentHelp(
            "The passphrase that seals the key, by the name that the program gives it (\"default\"); it is asked for on the terminal.",
            valueName: "name"))
    var passphrase: String?

    @Flag(help: "The domain keychain is kept in sealed vaults under this key, not in the session's keyring.")
    var vault = false

    func validate() throws {
        if [keyFile, credential, passphrase].compactMap(\.self).count > 1 {
            throw ValidationError("Give one key source: --key-file, --credential or --passphrase.")
        }
    }

    /// Puts the key source that was given into a configuration.
    func apply(to configuration: inout StorageConfiguration) throws {
        if let keyFile {
            // On a command line a relative path begins where the shell is, not in the data folder.
            configuration.keySource = .keyFile(URL(fileURLWithPath: keyFile).path)
        } else if let credential {
            configuration.keySource = .credential(credential)
        } else if let passphrase {
            configuration.keySource = .passphrase(passphrase)
        }
        if vault { configuration.keychain = .sealedVault(configuration.keySource) }
        let data = try configuration.directories?.data ?? ""
        configuration.passphrase = { name in
            // A first passphrase is not to be lost to a slip of the fingers.
            let isNew = !FileManager.default.fileExists(atPath: "\(data)/\(name).passphrase")
            return await Terminal.askPassphrase(name, twice: isNew)
        }
    }
}
