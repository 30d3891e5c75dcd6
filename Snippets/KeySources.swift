// The sources of the keys of encrypted databases.
// snippet.hide
import Foundation
import LocalData

func askForPassphrase(_ name: String) async -> String? { nil }

// snippet.show
var configuration = StorageConfiguration.xdg(applicationID: "com.example.app", version: "2.0")  // a desktop: in the keyring

configuration = .service(applicationID: "com.example.service", version: "2.0")  // a service: in a key file beside the data
configuration.keySource = .credential("documents-key")  // … or provided by systemd or Kubernetes
configuration.keySource = .keyFile("/etc/example/documents-key")  // … or in another file

configuration.keySource = .passphrase()  // … or under a passphrase; the program asks for it when the key is first needed
configuration.passphrase = { name in await askForPassphrase(name) }

configuration.databaseKeySources["cache"] = .keyFile("cache-key")  // another source for one database
configuration.keychain = .sealedVault(configuration.keySource)  // without a keyring: .keychain in sealed databases too
// snippet.hide
_ = configuration
