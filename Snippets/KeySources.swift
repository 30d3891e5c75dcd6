// Where the keys of encrypted databases are kept.
// snippet.hide
import Foundation
import LocalData

func askForPassphrase(_ name: String) async -> String? { nil }

// snippet.show
var configuration = StorageConfiguration.xdg(applicationID: "com.example.app", version: "2.0")  // a desktop: in the keyring

configuration = .service(applicationID: "com.example.service", version: "2.0")  // a service: in a key file beside the data
configuration.keySource = .credential("documents-key")  // … or handed over by systemd or Kubernetes
configuration.keySource = .keyFile("/etc/example/documents-key")  // … or in a file elsewhere

configuration.keySource = .passphrase()  // … or under a passphrase, which is asked for when the key is first needed
configuration.passphrase = { name in await askForPassphrase(name) }

configuration.databaseKeySources["cache"] = .keyFile("cache-key")  // one database of its own
configuration.keychain = .sealedVault(configuration.keySource)  // no keyring here: .keychain in sealed databases too
// snippet.hide
_ = configuration
