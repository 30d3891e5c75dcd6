// A desktop program that may run in a Flatpak: there, the Secret portal provides the key.
// snippet.hide
import Foundation
import LocalData

// snippet.show
var configuration = StorageConfiguration.xdg(applicationID: "com.example.notes", version: "2.0")
if FileManager.default.fileExists(atPath: "/.flatpak-info") {
    configuration.keySource = .secretPortal()
    configuration.keychain = .sealedVault(.secretPortal())  // the domain .keychain without access to the keyring
}
// snippet.hide
_ = configuration
