// Say once, before anything uses the shared router, where things are kept.
import LocalData

// A program of a person's session: XDG folders and the session's keyring.
try StorageRouter.bootstrap(.xdg(applicationID: "com.example.app", version: "2.0"))

// A service under systemd: STATE_DIRECTORY and CONFIGURATION_DIRECTORY.
let service = StorageConfiguration.service(applicationID: "com.example.service", version: "2.0")
// snippet.hide
_ = service
