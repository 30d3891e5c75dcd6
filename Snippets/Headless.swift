// A machine without a desktop.
// snippet.hide
import Foundation
import LocalData

// snippet.show
// Without a keyring, the value is encrypted with a key from a key file, which only the service's user can read.
let secrets = StorageKeyGroup(owner: "Network", domain: .userDefaults(suite: "secrets"), security: .encrypted)
let apiToken: StorageKey<String> = secrets.key("api-token", "The token for the service")

// Under systemd, with StateDirectory= in the unit, keys and data are in STATE_DIRECTORY.
var configuration = StorageConfiguration.service(applicationID: "com.example.service", version: "2.0")

// Without systemd: everything in one folder …
configuration = StorageConfiguration(root: URL(filePath: "/var/lib/example"), applicationID: "com.example.service")
// … and the key in another folder, so that it can be backed up separately.
configuration.keySource = .keyFile("/etc/example/sealing-key")
// snippet.hide

configuration = .inMemory()
let storage = StorageRouter(configuration: configuration)
try await storage.set("abc", for: apiToken)
print(try await storage.get(apiToken))
