// A machine without a desktop.
// snippet.hide
import Foundation
import LocalData

// snippet.show
// No keyring: the value is sealed with a key in a file that only the service's user can read.
let secrets = StorageKeyGroup(owner: "Network", domain: .userDefaults(suite: "secrets"), security: .encrypted)
let apiToken: StorageKey<String> = secrets.key("api-token", "What the service knows us by")

// Under systemd, with StateDirectory= in the unit, keys and data are in STATE_DIRECTORY.
var configuration = StorageConfiguration.service(applicationID: "com.example.service", version: "2.0")

// Without systemd: everything under one folder …
configuration = StorageConfiguration(root: URL(filePath: "/var/lib/example"), applicationID: "com.example.service")
// … and the key elsewhere, if it is to be backed up elsewhere.
configuration.keySource = .keyFile("/etc/example/sealing-key")
// snippet.hide

configuration = .inMemory()
let router = StorageRouter(configuration: configuration)
try await router.set("abc", for: apiToken)
print(try await router.get(apiToken))
