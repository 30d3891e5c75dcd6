import ArgumentParser
import Foundation
import LocalData

/// The source of a sealing key as an argument: `keyring`, `file:PATH`, `credential:NAME`, `passphrase:NAME` or `portal:NAME`.
struct KeySourceArgument: ExpressibleByArgument {
    let reference: KeySourceReference
    /// The argument, with a complete path.
    let text: String

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        var text = argument
        switch (parts.first, parts.count == 2 ? parts[1] : nil) {
        case (_, ""?): return nil
        case ("keyring", nil): reference = .keychain
        case ("keyring", let name?): reference = .keychain(service: nil, name: name)
        case ("file", let path?):
            // A relative path on the command line is relative to the current folder, not to the data folder.
            let path = URL(fileURLWithPath: path).path
            (reference, text) = (.keyFile(path), "file:\(path)")
        case ("credential", let name?): reference = .credential(name)
        case ("passphrase", let name): reference = name.map { KeySourceReference.passphrase($0) } ?? .passphrase()
        case ("portal", let name): reference = name.map { KeySourceReference.secretPortal($0) } ?? .secretPortal()
        case ("custom", let name?): reference = .custom(name)
        default: return nil
        }
        self.text = text
    }

    static var help: ArgumentHelp {
        ArgumentHelp(
            "keyring, file:PATH, credential:NAME (in the folder CREDENTIALS_DIRECTORY), passphrase:NAME or portal:NAME.",
            valueName: "source")
    }

    static var defaultCompletionKind: CompletionKind { .list(["keyring", "file:", "credential:", "passphrase", "portal"]) }

    var defaultValueDescription: String { text }
}
